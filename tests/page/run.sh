#!/usr/bin/env bash
# run.sh <page folder> <napkin> <work folder> <source folder>: the page in Chromium, against napkin. Skips without the
# page, Chromium, Node.js or playwright-core.
set -euo pipefail
page=$1 napkin=$2 work=$3 root=$4
skip() {
  echo "skipped: $*"
  exit 77
}
[[ -e $page/perfmodel_page.wasm ]] || skip 'there is no page; ./run page builds it'
chromium=${PERFMODEL_CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
[[ -n $chromium ]] || skip 'there is no Chromium (Debian: chromium)'
command -v node >/dev/null || skip 'there is no Node.js (Debian: nodejs)'
[[ -e $work/node_modules/playwright-core ]] || skip 'there is no playwright-core; ./run page fetches it'
newer=$(find "$root"/{include,tools/napkin,tools/page} -type f -newer "$page/index.html" ! -name '*.mjs' -print -quit)
[[ -z $newer ]] || skip "the page is older than ${newer#"$root/"}; ./run page builds it"
size=$(cat "$page"/*.wasm | gzip -9c | wc -c)
[[ $size -le 700000 ]] || { echo "FAIL: the page's WebAssembly is $size bytes, compressed by gzip: more than 700000"; exit 1; }
if command -v npm >/dev/null; then
  packed=$(cd "$page/npm" && npm pack --dry-run --json --loglevel=error) || { echo 'FAIL: npm pack'; exit 1; }
  for file in perfmodel.js perfmodel.d.ts perfmodel_page.js perfmodel_page.wasm perfmodel_module.js perfmodel_module.wasm LICENSES.txt; do
    [[ $packed == *"\"$file\""* ]] || { echo "FAIL: the package has no $file"; exit 1; }
  done
fi
PERFMODEL_CHROMIUM=$chromium node "$root/tools/page/test.mjs" "$page" "$napkin" "$page/../page_pictures" "$work"
