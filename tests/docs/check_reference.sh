#!/usr/bin/env bash
# check_reference.sh <source folder>: the API reference has every documented function and struct of include/.
# Skipped without Doxygen or Python. tests/structure/check_doxygen.sh has its warnings.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
for program in doxygen python3; do
  command -v "$program" >/dev/null || { echo "skipped: there is no $program"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  cat docs/Doxyfile
  printf '%s\n' 'INPUT = include' 'USE_MDFILE_AS_MAINPAGE =' "OUTPUT_DIRECTORY = $work" 'GENERATE_HTML = NO' \
    'GENERATE_XML = YES' 'XML_PROGRAMLISTING = NO' 'WARN_AS_ERROR = NO' 'WARNINGS = NO'
} >"$work/Doxyfile"
doxygen "$work/Doxyfile" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
python3 "$here/check_reference.py" include "$work/xml"
