#!/usr/bin/env bash
# static_napkin.sh <source folder> <work folder> <cmake> <compiler>: with PERFMODEL_STATIC_NAPKIN the command that links
# napkin names no shared library. Nothing is compiled.
set -euo pipefail
root=$1
work=$2
cmake=$3
compiler=$4

if ! command -v ninja >/dev/null; then
  echo 'skipped: there is no ninja, whose commands are read'
  exit 77
fi
rm -rf "$work"
if ! "$cmake" -S "$root" -B "$work" -G Ninja "-DCMAKE_CXX_COMPILER=$compiler" -DPERFMODEL_BUILD_EXAMPLES=ON \
  -DPERFMODEL_STATIC_NAPKIN=ON >"$work.log" 2>&1; then
  if grep -q 'Could NOT find ZLIB' "$work.log"; then
    echo 'skipped: there is no static zlib'
    exit 77
  fi
  cat "$work.log"
  exit 1
fi
link=$(ninja -C "$work" -t commands napkin | tail -n 1)
echo "$link"
[[ $link == *' -static '* && $link == *libz.a* && $link != *.so* && $link != *libmpi* ]]
