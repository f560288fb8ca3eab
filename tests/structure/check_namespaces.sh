#!/usr/bin/env bash
# check_namespaces.sh <source folder>: a file of the tests has its names in a namespace <suite>_<file>, since
# many of them are compiled as one (cmake/perfmodel_unity.cmake).
set -euo pipefail
cd "$1"
status=0 files=0
for file in tests/{static,unit,property,catalog}/*.cpp; do
  name=${file#tests/}
  files=$((files + 1))
  own=$(tr / _ <<<"${name%.cpp}")
  if ! grep -qx "namespace $own {" "$file" || [[ $(tail -n 1 "$file") != "}  // namespace $own" ]]; then
    echo "$file: its names do not stand in namespace $own"
    status=1
  fi
done
echo "$files files are namespaces of their own"
exit "$status"
