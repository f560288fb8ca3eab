#!/usr/bin/env bash
# build.sh <source folder> <output folder> <work folder>: the page, static. Exits with 77 and one line where a tool
# that it needs is not here.
set -euo pipefail
root=$1 out=$2 work=$3
here=$root/tools/page
skip() {
  echo "page: skipped: $*"
  exit 77
}
command -v em++ >/dev/null || skip 'there is no Emscripten (Debian: emscripten)'
command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no Node.js with npm (Debian: nodejs npm)'
mkdir -p "$out" "$work/include"

# Headers of Boost and nlohmann-json alone: those of the machine's own C library are not Emscripten's.
for name in boost nlohmann; do
  [[ -e /usr/include/$name ]] || skip "there are no headers of $name in /usr/include"
  ln -sfn "/usr/include/$name" "$work/include/$name"
done
[[ -e /usr/include/eigen3 ]] || skip 'there are no headers of Eigen in /usr/include/eigen3'
export NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}  # acorn, where Debian has it

cp "$here"/package.json "$here"/package-lock.json "$work"
if [[ ! -e $work/node_modules/uplot/package.json || $here/package-lock.json -nt $work/node_modules/uplot/package.json ]]; then
  (cd "$work" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) ||
    skip 'npm cannot fetch uPlot and playwright-core'
  touch "$work/node_modules/uplot/package.json"
fi

# module <name> <export> <flag or ""> <files left out, as a pattern>: napkin but its command line and its fits, in one
# source: a function that two files use is there once.
module() {
  for file in "$root"/tools/napkin/*.cpp "$root"/tools/napkin/io/figure_{axis,text}.cpp "$here"/no_trace_files.cpp; do
    case ${file##*/} in
      main.cpp | calibrate.cpp | calibrate_service.cpp | fit_*.cpp | sweep*.cpp | json_rows.cpp | completion.cpp | plan_files.cpp | query_runs.cpp | engine_commands.cpp) ;;
      *) [[ ${file##*/} =~ ^($4)\.cpp$ ]] || echo "#include \"$file\"" ;;
    esac
  done >"$work/$1.cpp"
  [[ -z $3 ]] || echo "#include \"$here/page_module.cpp\"" >>"$work/$1.cpp"
  flags=(-std=c++20 -flto -Oz -DNDEBUG ${3:+"$3"} -fvisibility=hidden -fwasm-exceptions)
  includes=(-include "$here/emscripten_shim.hpp" -I"$root/include" -I"$root/tools/library" -I"$root/tools"
    -I"$root/tools/napkin" -isystem "$work/include" -isystem /usr/include/eigen3)
  em++ "${flags[@]}" "${includes[@]}" -c "$work/$1.cpp" -o "$work/$1.o"
  em++ "${flags[@]}" "$work/$1.o" -o "$work/$1.js" \
    -sMALLOC=emmalloc -sALLOW_MEMORY_GROWTH -sMODULARIZE -sEXPORT_NAME="$2" -sENVIRONMENT=web,worker,node \
    -sEXPORTED_FUNCTIONS=_perfmodel_ask,_perfmodel_free,_perfmodel_version,_malloc,_free \
    -sEXPORTED_RUNTIME_METHODS=FS,UTF8ToString,stringToUTF8,lengthBytesUTF8 -sFORCE_FILESYSTEM
}
# compiled <name>: is the module newer than every source?
compiled() {
  [[ -e $work/$1.wasm && -z $(find "$root"/{include,tools/library,tools/napkin,tools/page} -type f \
    \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.inc' -o -name build.sh \) ! -name main.cpp -newer "$work/$1.wasm" -print -quit) ]]
}
# The page's module has steps, services by their closed form, rooflines, plans and their derivations; the npm package
# has the whole engine in addition. One after the other: each takes up to 6 GB.
if ! compiled perfmodel_page; then
  echo 'page: compiling the engine to WebAssembly: ten minutes of a core' >&2
  module perfmodel_page createPerfmodelPage -DNAPKIN_PAGE_MODULE \
    'audit.*|bench_report|diagnose_runs|require|thresholds|sensitivity|query_words|help|simulation.*|planning_simulated|service_check|service_runs|queries_(kernel|attention|collective|memory|speculation|model|advise|diagnose|trust|machine|time|paths|capacity)'
fi
if ! compiled perfmodel_module; then
  echo 'page: compiling the whole engine, for the npm package' >&2
  module perfmodel_module createPerfmodel '' main
fi
cp "$work"/perfmodel_page.{js,wasm} "$out"

cp "$here"/{index.html,page.css,page.js,perfmodel.js,perfmodel.d.ts} "$out"
cp "$work"/node_modules/uplot/dist/{uPlot.iife.min.js,uPlot.min.css} "$out"
{
  printf 'perfmodel\n\n'
  cat "$root/LICENSE"
  printf '\n\nuPlot (uPlot.iife.min.js, uPlot.min.css)\n\n'
  cat "$work/node_modules/uplot/LICENSE"
  for package in libboost-dev nlohmann-json3-dev; do
    file=/usr/share/doc/$package/copyright
    if [[ -e $file ]]; then
      printf '\n\n%s, compiled into perfmodel_page.wasm and perfmodel_module.wasm\n\n' "$package"
      head -c 20000 "$file"
    fi
  done
} >"$out/LICENSES.txt"
# A page of file:// may not fetch: its module again, as a script.
printf '(globalThis.perfmodelWasm ??= {}).perfmodel_page = "%s";\n' "$(base64 -w 0 "$out/perfmodel_page.wasm")" \
  >"$out/perfmodel_page.wasm.js"

# The npm package: `npm pack` in its folder.
mkdir -p "$out/npm"
cp "$out"/{perfmodel.js,perfmodel.d.ts,perfmodel_page.js,perfmodel_page.wasm,LICENSES.txt} "$out/npm"
cp "$work"/perfmodel_module.{js,wasm} "$out/npm"
version=$(sed -n 's/.*define PERFMODEL_VERSION "\([0-9.]*\)".*/\1/p' "$root/include/perfmodel/core/version.hpp")
node -e '
  const p = JSON.parse(require("fs").readFileSync(process.argv[1]));
  delete p.devDependencies;
  p.version = process.argv[2];
  require("fs").writeFileSync(process.argv[3], JSON.stringify(p, null, 2) + "\n");
' "$here/package.json" "$version" "$out/npm/package.json"

size=$(gzip -9c "$out/perfmodel_page.wasm" | wc -c) whole=$(gzip -9c "$out/npm/perfmodel_module.wasm" | wc -c)
echo "page: $out/index.html; compressed by gzip: $((size / 1000)) kB of WebAssembly;" \
  "$((whole / 1000)) kB of the whole engine, in the npm package alone"
[[ $size -le 700000 ]] || { echo "page: $size bytes are more than 700 kB" >&2; exit 1; }
