#!/usr/bin/env bash
# Builds the programs of validation/kernels for this machine's GPU, runs them all and records what
# they measure: validation/record.sh OUT [--quick] [--seconds N]
#
#   OUT/recordings/<experiment>.json   the recordings, and all of them in OUT/recordings.tar.gz
#   OUT/record.log                     everything that was printed
#
# After the recordings come, in the time that is left: each program's faults, which its own checks
# have to notice, and compute-sanitizer on reduced sizes. --quick leaves both out.
# PERFMODEL_REVISION names the revision where the checkout has no git; PERFMODEL_MODIFIED=1 says that
# it is not quite that one. Exit status: 0, all recorded or skipped with a reason; 1, something
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
cmake -S "$here/kernels" -B "$build" "${generator[@]}" -DPERFMODEL_CUDA_ARCHITECTURES=native
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
  began=$SECONDS code=0
  timeout 60 "$program" --out "$out/recordings/$name.json" --revision "$revision" \
    "${modified[@]}" || code=$?
  case $code in
    0) note "$name: recorded in $((SECONDS - began)) s" ;;
    77)
      note "$name: skipped"
      skipped=$((skipped + 1))
      ;;
    124) note "$name: stopped after 60 s" && status=1 ;;
    *) note "$name: failed ($code)" && status=1 ;;
  esac
done
tar -C "$out" -czf "$out/recordings.tar.gz" recordings
if [[ $skipped -eq ${#names[@]} ]]; then
  exit 77
fi

if [[ $quick -eq 0 ]]; then
  for name in "${names[@]}"; do
    program=$build/$name
    [[ -x $program ]] || continue
    while read -r fault; do
      if [[ $(left) -lt 10 ]]; then
        note "$name broken by $fault: no time left"
        continue
      fi
      code=0
      said=$(timeout 20 "$program" --reduced --break "$fault" 2>&1 >/dev/null) || code=$?
      # A call that fails exits 1 as well: only a check that fails has noticed.
      if [[ $code -eq 1 && $said == *'check failed'* ]]; then
        note "$name broken by $fault: noticed"
      elif [[ $code -eq 77 ]]; then
        note "$name broken by $fault: skipped"
      else
        note "$name broken by $fault: NOT noticed ($code)"
        status=1
      fi
    done < <("$program" --faults)
  done

  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer || true)
  for tool in memcheck racecheck initcheck synccheck; do
    for name in "${names[@]}"; do
      program=$build/$name
      [[ -x $program && -n $sanitizer ]] || continue
      if [[ $(left) -lt 25 ]]; then
        note "$tool $name: no time left"
        continue
      fi
      code=0
      timeout 40 "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 5 \
        "$program" --reduced >"$out/sanitizer.log" 2>&1 || code=$?
      case $code in
        0) note "$tool $name: clean" ;;
        77) note "$tool $name: skipped" ;;
        124) note "$tool $name: stopped after 40 s" ;;
        *)
          note "$tool $name: FAILED ($code)"
          tail -n 30 "$out/sanitizer.log"
          status=1
          ;;
      esac
    done
  done
  [[ -n $sanitizer ]] || note 'compute-sanitizer is not on this machine'
fi

echo "record: $(date -u +%FT%TZ), $SECONDS s, revision $revision ${modified[*]}"
printf '  %s\n' "${summary[@]}"
exit "$status"
