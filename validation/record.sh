#!/usr/bin/env bash
# Builds the programs of validation/kernels for this machine's GPU, runs them all and records what
# they measure: validation/record.sh OUT [--quick] [--seconds N]
#
#   OUT/recordings/<experiment>.json   the recordings, and all of them in OUT/recordings.tar.gz
#   OUT/record.log                     everything that was printed
#
# After the recordings come, in the time that is left: each program's faults, which its own checks
# have to notice, and compute-sanitizer on reduced sizes. --quick leaves both out. What they found
# is printed together, at the end.
# PERFMODEL_REVISION names the revision where the checkout has no git; PERFMODEL_MODIFIED=1 says that
# it is not quite that one. PERFMODEL_CUBLASLT_DIR names the folder with include/cublasLt.h and lib/,
# where the toolkit is without. Exit status: 0, all recorded or skipped with a reason; 1, something
# failed; 77, no CUDA compiler or no GPU.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() {
  echo "usage: validation/record.sh OUT [--quick] [--seconds N]" >&2
  exit 2
}
out='' quick=0 seconds=520
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=1 ;;
    --seconds)
      [[ ${2:-} =~ ^[0-9]+$ ]] || usage
      seconds=$2
      shift
      ;;
    -*) usage ;;
    *)
      [[ -z $out ]] || usage
      out=$1
      ;;
  esac
  shift
done
[[ -n $out ]] || usage
mkdir -p "$out/recordings"
out=$(cd "$out" && pwd)
exec > >(tee "$out/record.log") 2>&1
left() { echo $((seconds - SECONDS)); }

revision=${PERFMODEL_REVISION:-}
modified=()
if [[ -n $revision ]]; then
  if [[ -n ${PERFMODEL_MODIFIED:-} ]]; then modified=(--modified); fi
elif revision=$(git -C "$here" rev-parse HEAD 2>/dev/null); then
  if [[ -n $(git -C "$here" status --porcelain 2>/dev/null) ]]; then modified=(--modified); fi
else
  revision=unknown
fi

if ! nvidia-smi -L >/dev/null 2>&1 && ! compgen -G '/dev/nvidia[0-9]*' >/dev/null && [[ ! -e /dev/dxg ]]; then
  echo 'record: skipped: no NVIDIA GPU on this machine'
  exit 77
fi

build=${PERFMODEL_KERNELS_BUILD:-$here/../build/kernels-native}
generator=()
if [[ ! -e $build/CMakeCache.txt ]]; then
  if command -v ninja >/dev/null; then generator=(-G Ninja); else generator=(-G 'Unix Makefiles'); fi
fi
options=(-DPERFMODEL_CUDA_ARCHITECTURES=native)
if [[ -n ${PERFMODEL_CUBLASLT_DIR:-} ]]; then
  options+=("-DPERFMODEL_CUBLASLT_DIR=$PERFMODEL_CUBLASLT_DIR")
fi
cmake -S "$here/kernels" -B "$build" "${generator[@]}" "${options[@]}"
if ! grep -q '^PERFMODEL_NVCC:.*=/' "$build/CMakeCache.txt"; then
  echo 'record: skipped: the CUDA compiler nvcc is not on this machine'
  exit 77
fi
status=0
# What does not compile is one measurement less, and a failure.
cmake --build "$build" --parallel "$(nproc)" -- -k $([[ -e $build/build.ninja ]] && echo 0) || status=1
echo "record: built in $SECONDS s"

names=()
for source in "$here"/kernels/*.cu; do
  names+=("$(basename "$source" .cu)")
done

summary=()
note() {
  summary+=("$*")
  echo "record: $*"
}
skipped=0
for name in "${names[@]}"; do
  program=$build/$name
  if [[ ! -x $program ]]; then
    note "$name: not built"
    status=1
    continue
  fi
  if [[ $(left) -lt 5 ]]; then
    note "$name: no time left"
    status=1
    continue
  fi
  began=$SECONDS code=0 most=$(left)
  if [[ $most -gt 60 ]]; then most=60; fi
  timeout "$most" "$program" --out "$out/recordings/$name.json" --revision "$revision" \
    "${modified[@]}" || code=$?
  case $code in
    0) note "$name: recorded in $((SECONDS - began)) s" ;;
    77)
      note "$name: skipped"
      skipped=$((skipped + 1))
      ;;
    124) note "$name: stopped after $most s" && status=1 ;;
    *) note "$name: failed ($code)" && status=1 ;;
  esac
done
tar -C "$out" -czf "$out/recordings.tar.gz" recordings
if [[ $skipped -eq ${#names[@]} ]]; then
  exit 77
fi

# try_fault PROGRAM FAULT: prints whether the program's own checks notice it.
try_fault() {
  local code=0 said
  said=$(timeout 40 "$build/$1" --reduced --break "$2" 2>&1 >/dev/null) || code=$?
  # A call that fails exits 1 as well: only a check that fails has noticed.
  if [[ $code -eq 1 && $said == *'check failed'* ]]; then
    echo "$1 broken by $2: noticed"
  elif [[ $code -eq 77 ]]; then
    echo "$1 broken by $2: skipped"
  else
    echo "$1 broken by $2: NOT noticed ($code)"
  fi
}

# try_sanitizer TOOL PROGRAM: prints what compute-sanitizer says of it. The programs check each call
# themselves; calls that a library tries, and that may fail, are no error.
try_sanitizer() {
  local code=0 said
  said=$(timeout 60 "$sanitizer" --tool "$1" --error-exitcode 99 --print-limit 5 \
    --report-api-errors no "$build/$2" --reduced 2>&1) || code=$?
  case $code in
    0) echo "$1 $2: clean" ;;
    77) echo "$1 $2: skipped" ;;
    124) echo "$1 $2: stopped after 60 s" ;;
    *)
      if [[ $said == *'Device not supported'* ]]; then
        echo "$1 $2: compute-sanitizer does not support this device"
      else
        echo "$1 $2: FAILED ($code)"
        tail -n 30 <<<"$said"
      fi
      ;;
  esac
}

# Nothing is timed from here on: four trials at once, each into a file of its own.
trials=$(mktemp -d)
trap 'rm -rf "$trials"' EXIT
started=0 running=()
wait_for_oldest() {
  wait "${running[0]}" || true
  running=("${running[@]:1}")
}
# try SECONDS FUNCTION ARGUMENTS...: where so much time is left.
try() {
  if [[ ${#running[@]} -ge 4 ]]; then wait_for_oldest; fi
  if [[ $(left) -lt $1 ]]; then
    note "${*:3}: no time left"
    return
  fi
  "${@:2}" >"$trials/$(printf '%04d' $started)" &
  started=$((started + 1)) running+=($!)
}

if [[ $quick -eq 0 ]]; then
  for name in "${names[@]}"; do
    [[ -x $build/$name ]] || continue
    while read -r fault; do
      try 45 try_fault "$name" "$fault"
    done < <("$build/$name" --faults)
  done
  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer || true)
  for tool in memcheck racecheck initcheck synccheck; do
    for name in "${names[@]}"; do
      if [[ -n $sanitizer && -x $build/$name ]]; then try 65 try_sanitizer "$tool" "$name"; fi
    done
  done
  while [[ ${#running[@]} -gt 0 ]]; do wait_for_oldest; done
  for trial in "$trials"/*; do
    [[ -s $trial ]] || continue
    note "$(head -n 1 "$trial")"
    tail -n +2 "$trial"
    if grep -qE ': (NOT noticed|FAILED) ' "$trial"; then status=1; fi
  done
  [[ -n $sanitizer ]] || note 'compute-sanitizer is not on this machine'
fi

echo "record: $(date -u +%FT%TZ), $SECONDS s, revision $revision ${modified[*]}"
printf '  %s\n' "${summary[@]}"
exit "$status"
