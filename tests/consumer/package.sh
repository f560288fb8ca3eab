#!/usr/bin/env bash
# package.sh <build folder> <work folder> <version> <cmake> <cpack>: cpack writes a .tar.gz and a .deb of what the build folder
# has, with the headers, napkin, its man page, completions, pages and licence; napkin runs from there.
set -euo pipefail
build=$1
work=$2
version=$3
cmake=$4
cpack=$5

if [[ ! -x $build/tools/napkin/napkin ]]; then
  echo 'napkin is not built'
  exit 1
fi
rm -rf "$work"
mkdir -p "$work"

# has_all <list> <prefix>: what a package has to have.
has_all() {
  local file
  for file in bin/napkin include/perfmodel/perfmodel.hpp include/perfmodel/tools/advise/advise.hpp \
    lib/cmake/perfmodel/perfmodel-config.cmake lib/pkgconfig/perfmodel.pc share/man/man1/napkin.1 \
    share/bash-completion/completions/napkin share/zsh/site-functions/_napkin \
    share/fish/vendor_completions.d/napkin.fish share/doc/perfmodel/LICENSE \
    share/doc/perfmodel/README.md share/doc/perfmodel/docs/start/cpp.md \
    share/doc/perfmodel/docs/pictures/readme.svg; do
    if ! grep -qxF "$2$file" "$1"; then
      echo "$2$file is not in the package:"
      cat "$1"
      exit 1
    fi
  done
}

# Makefiles would build everything first: CPack is told of a generator that does not.
package() { "$cpack" --config "$build/CPackConfig.cmake" -G "$1" -B "$work" -D CPACK_CMAKE_GENERATOR=Ninja; }

package TGZ
archive=$(echo "$work"/perfmodel-"$version"-*.tar.gz)
tar -tzf "$archive" >"$work/list"
has_all "$work/list" "$(basename "$archive" .tar.gz)/"
mkdir "$work/unpacked"
tar -C "$work/unpacked" --strip-components=1 -xzf "$archive"
"$work/unpacked/bin/napkin" --version | grep -F "$version"
[[ -s $work/unpacked/share/man/man1/napkin.1 ]]

if command -v dpkg-deb >/dev/null; then
  package DEB
  debian=$(echo "$work"/perfmodel_"$version"_*.deb)
  dpkg-deb -c "$debian" | sed 's/.* \.\///' >"$work/list"
  has_all "$work/list" usr/
  [[ $(dpkg-deb -f "$debian" Version) == "$version" ]]
  dpkg-deb -f "$debian" Depends | grep libc6
else
  echo 'skipped the .deb: there is no dpkg-deb'
fi

# The component napkin is the program, its man page and three completions.
"$cmake" --install "$build" --component napkin --prefix "$work/napkin"
[[ $(find "$work/napkin" -type f | wc -l) -eq 5 ]] || { find "$work/napkin" -type f; exit 1; }
