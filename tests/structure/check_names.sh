#!/usr/bin/env bash
# No type of perfmodel has the name of something that POSIX or C declare: a program that includes them,
# says `using namespace perfmodel` and uses every type by its bare name compiles.
# Usage: check_names.sh <source directory> <compiler>
set -euo pipefail
shopt -s extglob
root=$(cd "$1" && pwd)
compiler=$2

# Without those that need Eigen.
mapfile -t files < <(find "$root"/{include,tools/library} -name '*.hpp' ! -path '*/tools/fit/*' | sort)
# Names of types in namespace perfmodel itself: not in detail, catalog and others, and no templates.
names=$(awk '
  FNR == 1 { inner = ""; before = "" }
  inner == "" && /^namespace / && !/^namespace perfmodel(::inline v[0-9_]+)? \{/ { inner = $2 }
  inner != "" && /^\}  \/\/ namespace/ && $4 == inner { inner = "" }
  inner == "" && match($0, /^(struct|class|enum class|using) [a-z_0-9]+/) && before !~ /^(template|  requires)/ &&
  $0 !~ /<.*> \{|^using (namespace|enum)|::/ {
    n = split(substr($0, RSTART, RLENGTH), word, " "); print word[n]
  }
  { before = $0 }' "${files[@]}" | sort -u)
[ "$(wc -l <<<"$names")" -gt 100 ] || { echo "FAIL: only $(wc -l <<<"$names") names found"; exit 1; }

{
  for header in ctype.h dirent.h dlfcn.h errno.h fcntl.h fenv.h math.h netdb.h poll.h pthread.h sched.h \
    search.h semaphore.h signal.h stdio.h stdlib.h string.h strings.h sys/mman.h sys/resource.h \
    sys/socket.h sys/stat.h sys/time.h sys/types.h sys/wait.h termios.h time.h ucontext.h unistd.h \
    algorithm cmath fstream functional iostream memory random thread; do
    printf '#if __has_include(<%s>)\n#include <%s>\n#endif\n' "$header" "$header"
  done
  printf '#include <%s>\n' "${files[@]#"$root"/@(include|tools/library)/}"
  echo 'using namespace perfmodel;'
  for name in $names; do echo "using uses_$name = $name;"; done
} | "$compiler" -std=c++20 -fsyntax-only -I"$root/include" -I"$root/tools/library" -x c++ - && echo 'all names are unambiguous'
