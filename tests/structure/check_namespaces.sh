#!/usr/bin/env bash
# check_namespaces.sh <source folder>: a file of the tests has its names in a namespace <suite>_<file>, since
# many of them are compiled as one (cmake/perfmodel_unity.cmake). Those that CMake leaves out of that are exempt.
set -euo pipefail
cd "$1"
alone=$(sed -n '/^set_source_files_properties(/,/)$/p' tests/CMakeLists.txt | grep -oE '[a-z]+/[a-z_]+\.cpp')
status=0 files=0
for file in tests/{static,unit,property,catalog}/*.cpp; do
  name=${file#tests/}
  if grep -qx "$name" <<<"$alone"; then continue; fi
  files=$((files + 1))
  own=$(tr / _ <<<"${name%.cpp}")
  if ! grep -qx "namespace $own {" "$file" || [[ $(tail -n 1 "$file") != "}  // namespace $own" ]]; then
    echo "$file: its names do not stand in namespace $own"
    status=1
  fi
done
echo "$files files are namespaces of their own"
exit "$status"
