#!/usr/bin/env bash
# recipes.sh <source folder>: the recipes of vcpkg and Conan have the version of version.hpp, the container of
# .devcontainer has the packages that ./run installs.
set -euo pipefail
cd "$1"
version=$(sed -n 's/^#define PERFMODEL_VERSION "\(.*\)"$/\1/p' include/perfmodel/core/version.hpp)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
status=0
fail() {
  echo "$*"
  status=1
}

vcpkg=cmake/packaging/vcpkg/perfmodel/vcpkg.json
conan=cmake/packaging/conan/conanfile.py
grep -qF "\"version\": \"$version\"," "$vcpkg" || fail "$vcpkg has another version than $version"
grep -qF "    version = \"$version\"" "$conan" || fail "$conan has another version than $version"
if command -v python3 >/dev/null; then
  python3 -c 'import ast, json, sys
json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), ast.parse(open(sys.argv[3]).read())' \
    "$vcpkg" .devcontainer/devcontainer.json "$conan" || fail 'a recipe cannot be read'
else
  echo 'skipped the syntax of the recipes: there is no python3'
fi

# What ./run may install: packages+=(...).
mapfile -t packages < <(sed -nE 's/^ *[a-z0-9_| ]+\) packages\+=\(([a-z][a-z0-9+-]*)\) ;;.*/\1/p' run)
[[ ${#packages[@]} -gt 10 ]] || fail "only ${#packages[@]} packages are read from run"
for package in "${packages[@]}" libcatch2-dev mkdocs doxygen; do
  grep -qE "(^| )${package//+/\\+}( |\$)" .devcontainer/install.sh || fail ".devcontainer/install.sh lacks $package"
done
exit "$status"
