#!/usr/bin/env bash
# check_run.sh <source folder>: ./run recovers from a failed configuration, lists the packages that it lacks, builds
# where it may write, and leaves nothing behind when a signal ends an installation. CMake, the compiler, apt-get, sudo
# and id are scripts here, so nothing is built or installed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{checkout/{include,examples,tools,cmake,tests/bench},bin,etc,tmp,lacks}
cp "$1/run" "$work/checkout/run"
touch "$work/checkout/CMakeLists.txt"
printf '#!/bin/sh\n' >"$work/checkout/tests/bench/compile_cost.sh"
chmod +x "$work/checkout/tests/bench/compile_cost.sh"

fail() {
  echo "check_run.sh: $*"
  [[ ! -s $work/said ]] || sed 's/^/  | /' "$work/said"
  exit 1
}

# --- a machine of scripts -------------------------------------------------------------------------

for tool in bash sh env sed awk find mkdir touch cat tee mktemp rm mv cp chmod sort head dirname flock nproc grep \
    sleep xargs ls; do
  ln -s "$(command -v "$tool")" "$work/bin/$tool"
done
script() {  # <name>, the body on standard input; $work is where it stands
  { printf '#!/usr/bin/env bash\nwork=%q\n' "$work"; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
# A header is there unless lacks/ has a file of its folder's name.
script g++ <<'S'
if [[ $1 == -dumpversion ]]; then echo 12; exit; fi
header=$(sed -n 's/.*__has_include(<\([^/]*\).*/\1/p')
[[ ! -e $work/lacks/$header ]]
S
script ninja <<<'exit 1'
# Keeps the first flags and the first compiler in its cache, as CMake does, and writes build.ninja last.
script cmake <<'S'
flags=${CXXFLAGS:-} fresh=0 folder= preset=
case $1 in
  --version) echo 'cmake version 3.25.1'; exit ;;
  --build)
    [[ -e $2/build.ninja ]] || { echo "ninja: error: loading 'build.ninja': No such file or directory"; exit 1; }
    mkdir -p "$2/tools/napkin"
    printf '#!/bin/sh\necho "napkin of %s"\n' "$2" >"$2/tools/napkin/napkin"
    chmod +x "$2/tools/napkin/napkin"
    exit ;;
esac
while [[ $# -gt 0 ]]; do
  case $1 in
    --preset) preset=$2; shift ;;
    -B) folder=$2; shift ;;
    --fresh) fresh=1 ;;
  esac
  shift
done
folder=${folder:-$PWD/build/$preset}
mkdir -p "$folder" || exit 1
cache=$folder/CMakeCache.txt
[[ $fresh -eq 0 ]] || rm -f "$cache"
[[ -e $cache ]] || printf '%s\n' "CMAKE_CXX_FLAGS:STRING=$flags" "CMAKE_CXX_COMPILER:STRING=$work/bin/g++" \
  "CMAKE_MAKE_PROGRAM:FILEPATH=$work/bin/ninja" 'CMAKE_GENERATOR:INTERNAL=Ninja' >"$cache"
! grep -q 'notaflag' "$cache" || { echo 'the compiler is not able to compile a simple test program'; exit 1; }
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:STRING=//p' "$cache")
[[ -x $compiler ]] || { echo "$compiler is not a full path to an existing compiler tool"; exit 1; }
[[ ! -e $work/lacks/nlohmann ]] || { echo 'Could not find a package configuration file: nlohmann_json'; exit 1; }
touch "$folder/build.ninja"
S
script id <<<'echo "${FAKE_UID:-0}"'
script apt-cache <<<'printf "  Candidate: 2.13.8-1\n"'
script dpkg <<'S'
[[ $(printf '%s\n%s\n' "$2" "$4" | sort -V | head -n 1) == "$4" ]]  # --compare-versions A ge B
S
# Installs what it is asked for by making it no longer lack; waits where $work/slow is there.
script apt-get <<'S'
echo "$*" >>"$work/apt.log"
case " $* " in
  *' indextargets '*) echo "$(. /etc/os-release && echo "${VERSION_CODENAME:-}") main http://mirror/debian/" ;;
  *' libcatch2-dev '*)
    echo "Unpacking libcatch2-dev"
    if [[ -e $work/slow ]]; then touch "$work/waiting"; exec sleep 60; fi
    rm -f "$work/lacks/catch2" ;;
  *' nlohmann-json3-dev '*) rm -f "$work/lacks/nlohmann" ;;
esac
S
# The machine's own list of sources is $work/etc here.
sudo_body='arguments=(); for a in "$@"; do arguments+=("${a//\/etc\/apt\/sources.list.d/$work/etc}"); done
exec "${arguments[@]}"'
script sudo <<<"$sudo_body"

run() { env -i PATH="$work/bin" HOME="$work" TMPDIR="$work/tmp" "$@"; }
# says <status> <pattern> [VARIABLE=VALUE...] -- <argument...>
says() {
  local expected=$1 pattern=$2 status=0 settings=()
  shift 2
  while [[ $1 != -- ]]; do settings+=("$1"); shift; done
  shift
  run "${settings[@]}" "$work/checkout/run" "$@" >"$work/said" 2>&1 || status=$?
  [[ $status -eq $expected ]] || fail "./run $* (${settings[*]}): status $status, not $expected"
  grep -qE -- "$pattern" "$work/said" || fail "./run $* (${settings[*]}): does not say $pattern"
  ! grep -qE 'run: line [0-9]+:' "$work/said" || fail "./run $* (${settings[*]}): a message of bash"
  [[ -z $(ls "$work/tmp") ]] || fail "./run $* (${settings[*]}): leaves $(ls "$work/tmp") in TMPDIR"
}
anew() { rm -rf "$work/checkout/build" "$work"/lacks/* "$work/apt.log"; }

# --- a failed configuration -----------------------------------------------------------------------

says 1 'napkin does not build' CXXFLAGS=-notaflag -- napkin --version
says 0 'napkin of .*/checkout/build/release' -- napkin --version
# A compiler that is gone since.
sed -i "s|$work/bin/g++|$work/bin/g++-11|" "$work/checkout/build/release/CMakeCache.txt"
touch -d '1 minute' "$work/checkout/CMakeLists.txt"
says 0 'napkin of' -- napkin --version
touch -d '1 hour ago' "$work/checkout/CMakeLists.txt"

# --- missing packages -----------------------------------------------------------------------------

anew
touch "$work"/lacks/{nlohmann,CLI}
list='missing packages: nlohmann-json3-dev libcli11-dev;.* run: apt-get install nlohmann-json3-dev libcli11-dev$'
says 1 "$list" PERFMODEL_NO_INSTALL=1 -- napkin --version
says 1 "$list" PERFMODEL_NO_INSTALL=1 FAKE_UID=1000 -- demo
mv "$work/bin/sudo" "$work/sudo.away"
says 1 "$list" FAKE_UID=1000 -- napkin --version
grep -q 'ask an administrator to run' "$work/said" || fail 'nobody is asked to install'
mv "$work/sudo.away" "$work/bin/sudo"
[[ ! -e $work/apt.log ]] || fail "apt-get was called: $(cat "$work/apt.log")"
rm "$work"/lacks/*  # installed meanwhile
says 0 'napkin of' PERFMODEL_NO_INSTALL=1 -- napkin --version
# Configured without a package, which was installed afterwards.
anew
says 0 'napkin of' -- napkin --version
rm -r "$work/checkout/build/release"
touch "$work/lacks/nlohmann"
says 0 'installing nlohmann-json3-dev, system-wide' FAKE_UID=1000 -- napkin --version
# What a command can do without does not end it.
anew
says 0 'going on without these packages: valgrind; PERFMODEL_NO_INSTALL is set' PERFMODEL_NO_INSTALL=1 -- bench

# --- a checkout that cannot be written to ---------------------------------------------------------

anew
touch "$work/checkout/build"  # root may write anywhere else
says 1 'cannot write to the build folder .*/checkout/build; PERFMODEL_BUILD_DIR=DIR' -- napkin --version
says 0 "napkin of $work/elsewhere/release" PERFMODEL_BUILD_DIR="$work/elsewhere" -- napkin --version
cd "$work"
says 0 "napkin of $work/beside/release" PERFMODEL_BUILD_DIR=beside -- napkin --version
[[ $(ls "$work/checkout") == $'CMakeLists.txt\nbuild\ncmake\nexamples\ninclude\nrun\ntests\ntools' ]] ||
  fail "the checkout has $(ls "$work/checkout")"
says 0 'system-wide, with apt-get' -- help
rm "$work/checkout/build"

# --- an installation that a signal ends -----------------------------------------------------------

if [[ $(. /etc/os-release && echo "${ID:-}") != debian ]]; then
  echo 'check_run.sh: backports are of Debian alone; not tried here'
  exit
fi
set -m  # each background job has its own process group, and takes SIGINT
for signal in TERM HUP INT KILL; do
  anew
  touch "$work/slow" "$work/lacks/catch2"
  rm -f "$work/waiting"
  env -i PATH="$work/bin" HOME="$work" TMPDIR="$work/tmp" FAKE_UID=1000 "$work/checkout/run" build >"$work/said" 2>&1 &
  job=$!
  for ((i = 0; i < 200; i++)); do
    [[ ! -e $work/waiting ]] || break
    sleep 0.1
  done
  [[ -e $work/waiting ]] || fail 'Catch2 is not installed from the backports'
  if [[ $signal == INT ]]; then kill -INT -- "-$job"; else kill "-$signal" "$job"; fi
  wait "$job" 2>/dev/null && fail "SIG$signal does not end it"
  kill -- "-$job" 2>/dev/null || true  # what the scripts left running
  [[ -z $(ls "$work/etc") ]] || fail "SIG$signal leaves $(ls "$work/etc") among the sources of apt"
  [[ $signal == KILL || -z $(ls "$work/tmp") ]] || fail "SIG$signal leaves $(ls "$work/tmp") in TMPDIR"
  rm -rf "$work"/tmp/*
done
set +m
# Undisturbed, it installs Catch2 and removes what an earlier version had left.
anew
rm -f "$work/slow"
touch "$work/lacks/catch2" "$work/etc/perfmodel-backports.list"
says 0 'fetching package lists of .*-backports from http://mirror/debian/' FAKE_UID=1000 -- build
[[ -z $(ls "$work/etc") ]] || fail "an installation leaves $(ls "$work/etc") among the sources of apt"
grep -q 'Dir::Etc::SourceParts=.*libcatch2-dev' "$work/apt.log" || fail 'the backports are not named for the installation'
echo 'check_run.sh: ./run recovers, lists packages, builds elsewhere, leaves nothing behind'
