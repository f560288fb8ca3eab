#!/usr/bin/env bash
# build.sh <site> <work folder> [--without-reference]: the documentation as a static site. A warning of MkDocs or of
# Doxygen and a dead link are errors. With --without-reference an empty page takes the reference's place.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
site=$1 work=$2 reference=1
[[ ${3:-} != --without-reference ]] || reference=0
mkdir -p "$site" "$work"
site=$(cd "$site" && pwd) work=$(cd "$work" && pwd)

python3 "$here/stage.py" "$root" "$work"
cp "$here/mkdocs.yml" "$work/mkdocs.yml"
mkdocs build --quiet --strict --clean --config-file "$work/mkdocs.yml" --site-dir "$site"

if [[ $reference -eq 1 ]]; then
  css=/usr/share/doxygen-awesome-css
  {
    cat "$root/docs/Doxyfile"
    echo "OUTPUT_DIRECTORY = $site"
    echo 'HTML_OUTPUT = reference'
    if [[ -e $css/doxygen-awesome.css ]]; then
      echo "HTML_EXTRA_STYLESHEET = $css/doxygen-awesome.css $css/doxygen-awesome-sidebar-only.css"
      echo 'GENERATE_TREEVIEW = YES'
    fi
  } >"$work/Doxyfile"
  (cd "$root" && doxygen "$work/Doxyfile")
else
  mkdir -p "$site/reference"
  echo '<!doctype html><title>API reference</title><p>Not built here.' >"$site/reference/index.html"
fi
python3 "$here/check_links.py" "$site"
