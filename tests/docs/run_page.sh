#!/usr/bin/env bash
# run_page.sh <page.md> <work folder> <source folder> <napkin or ''> <compiler> <flags...>
#
# Takes each ```cpp block of the page. One that defines `int main` is compiled, and run in the work folder; any other is
# compiled as it stands, at namespace scope. A block without an #include of its own is put behind
# the #include lines, namespace aliases and using-directives of the page's earlier blocks, and where
# there are none, behind <perfmodel/perfmodel.hpp>.
#
# A comment in the line before a block changes that:
#   <!-- snippet: compile -->          compile, do not run
#   <!-- snippet: statements -->       the block is the body of a function: compile and run it
#   <!-- snippet: skip: <reason> -->   leave it out
#   <!-- snippet: run -->              before a ```sh block: run it in the source folder, `napkin` and
#                                      `./run napkin` being the program built here
# and <!-- output --> before a ```text block: it must equal what the block before it printed.
#
# PERFMODEL_PRECOMPILED names a folder with two precompiled headers: <perfmodel/perfmodel.hpp>, for the blocks that
# include it, and Boost.Units, for those that include another of the library.
set -euo pipefail

page=$1
work=$2
source_dir=$3
napkin=$4
shift 4
compile=("$@")

rm -rf "$work"
mkdir -p "$work"

# One file for each block that counts: <number>.<line>.<kind>
awk -v work="$work" '
  function kind_of(language) {
    if (language == "cpp" && mark ~ /^skip: *[^ ]/) return ""
    if (language == "cpp" && mark == "") return "cpp"
    if (language == "cpp" && (mark == "compile" || mark == "statements")) return mark
    if (language == "sh" && mark == "run") return "sh"
    if (language == "text" && mark == "output") return "output"
    if (mark == "" || mark ~ /^skip: *[^ ]/) return ""
    print FILENAME ":" FNR ": a " language " block cannot be marked `" mark "`" > "/dev/stderr"
    failed = 1
    return ""
  }
  inside && /^```[ \t]*$/ { inside = 0; mark = ""; if (file != "") close(file); next }
  inside { if (file != "") print > file; next }
  /^<!-- snippet: .* -->[ \t]*$/ {
    mark = $0
    sub(/^<!-- snippet: */, "", mark)
    sub(/ *-->[ \t]*$/, "", mark)
    next
  }
  /^<!-- output -->[ \t]*$/ { mark = "output"; next }
  /^```/ {
    language = substr($0, 4)
    sub(/[ \t].*$/, "", language)
    inside = 1
    kind = kind_of(language)
    file = ""
    if (kind != "") {
      file = sprintf("%s/%03d.%d.%s", work, ++count, FNR, kind)
      printf "" > file
    }
    next
  }
  { mark = "" }
  END {
    if (inside) { print FILENAME ": a block without an end" > "/dev/stderr"; failed = 1 }
    exit failed
  }
' "$page"

status=0
complain() {
  echo "$page:$1: $2"
  status=1
}

preamble=$work/preamble.hpp
: >"$preamble"
printed=      # what the last block that ran printed
printed_by=   # its line

for block in "$work"/[0-9]*; do
  [[ -e $block ]] || break
  line=${block%.*}
  line=${line##*.}
  kind=${block##*.}

  case $kind in
    output)
      if [[ -z $printed_by ]]; then
        complain "$line" 'an output, and no block before it ran'
      elif ! diff -u --label "$page:$line" --label "what the block in line $printed_by printed" \
          "$block" "$printed"; then
        complain "$line" 'the output differs'
      fi
      printed_by=
      continue
      ;;
    sh)
      printed=$work/printed.$line
      printed_by=$line
      script=$work/script.$line
      sed 's|\./run napkin|napkin|g' "$block" >"$script"
      if ! (cd "$source_dir" && NAPKIN=$napkin bash -euo pipefail -c \
          'napkin() { "$NAPKIN" "$@"; }; source "$1"' sh "$script") >"$printed" </dev/null; then
        complain "$line" 'fails'
        cat "$printed"
      fi
      continue
      ;;
  esac

  program=$work/block.$line
  {
    if ! grep -q '^ *#include' "$block"; then
      if [[ -s $preamble ]]; then
        cat "$preamble"
      else
        echo '#include <perfmodel/perfmodel.hpp>'
        echo 'namespace pm = perfmodel;'
      fi
    fi
    if [[ $kind == statements ]]; then
      # Includes and aliases stay above the function.
      grep -E '^ *#include' "$block" || true
      echo 'int main() {'
      echo "#line $((line + 1)) \"$page\""
      sed -E 's/^ *#include.*//' "$block"
      echo '}'
    else
      echo "#line $((line + 1)) \"$page\""
      cat "$block"
    fi
  } >"$program.cpp"
  grep -hE '^ *#include|^namespace [A-Za-z_]+ = |^using namespace ' "$block" >>"$preamble" || true
  including=("${compile[@]}")
  if [[ -n ${PERFMODEL_PRECOMPILED:-} ]]; then
    if grep -qxF '#include <perfmodel/perfmodel.hpp>' "$program.cpp"; then
      including+=(-include "$PERFMODEL_PRECOMPILED/perfmodel.hpp")
    elif grep -q '^#include <perfmodel/' "$program.cpp"; then
      including+=(-include "$PERFMODEL_PRECOMPILED/boost_units.hpp")
    fi
  fi
  awk '!seen[$0]++' "$preamble" >"$preamble.new" && mv "$preamble.new" "$preamble"

  if [[ $kind == compile ]] || { [[ $kind == cpp ]] && ! grep -q 'int main' "$block"; }; then
    "${including[@]}" -fsyntax-only "$program.cpp" || complain "$line" 'does not compile'
    printed_by=
  elif "${including[@]}" "$program.cpp" -o "$program"; then
    printed=$work/printed.$line
    printed_by=$line
    (cd "$work" && "$program") >"$printed" </dev/null || complain "$line" 'fails'
  else
    complain "$line" 'does not compile'
    printed_by=
  fi
done

exit "$status"
