#!/usr/bin/env bash
# check_doxygen.sh <source folder>: Doxygen reads each doc comment of the headers without a warning,
# such as an unknown command or tag. Undocumented members are allowed. Skipped without Doxygen.
set -euo pipefail
cd "$1"
if ! command -v doxygen >/dev/null; then
  echo 'skipped: there is no doxygen'
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  cat docs/Doxyfile
  # XML, since comments are parsed when they are written.
  printf '%s\n' 'INPUT = include tools/library' 'FILE_PATTERNS = *.hpp' 'USE_MDFILE_AS_MAINPAGE =' \
    "OUTPUT_DIRECTORY = $work" 'GENERATE_HTML = NO' 'GENERATE_XML = YES' 'XML_PROGRAMLISTING = NO' \
    'WARN_AS_ERROR = NO' "WARN_LOGFILE = $work/warnings"
} >"$work/Doxyfile"
doxygen "$work/Doxyfile" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
headers=$(find include tools/library -name '*.hpp' | wc -l)
read_files=$(find "$work/xml" -name '*_8hpp.xml' | wc -l)
if [[ $headers -eq 0 || $read_files -lt $headers ]]; then
  echo "doxygen read $read_files of $headers headers"
  exit 1
fi
if [[ -s $work/warnings ]]; then
  sed "s|^$PWD/||" "$work/warnings"
  exit 1
fi
echo "$headers headers without a warning of $(doxygen --version)"
