#!/usr/bin/env bash
# Builds the programs of validation/kernels for this machine's GPU, runs them and records what they
# measure: validation/record.sh OUT [OPTIONS]
#
#   OUT/recordings.tar.gz   recordings/<program>.json, written anew while the programs run
#   OUT/record.log          everything that was printed, and what this says in short on stdout
#
#   --seconds N           all of it takes no longer (520)
#   --quick               recordings alone
#   --checks              no recordings: what else comes after them in the time that is left, which is
#                         each program's faults, for its checks to notice, and compute-sanitizer
#   --architectures LIST  "80 90a": instead of the device's; without a device they are built, no more
#   --programs LIST       "launch energy": these alone
#
# Needs a C++ compiler and the CUDA toolkit: nvcc in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda* or a
# Python's site-packages. cuBLASLt may be in one of those too, or where PERFMODEL_CUBLASLT_DIR says
# (include/cublasLt.h and lib/). PERFMODEL_KERNELS_BUILD: the folder to build in.
# PERFMODEL_REVISION names the revision where the checkout has no git; PERFMODEL_MODIFIED=1 says that
# it is not quite that one. Exit status: 0, all recorded or skipped with a reason; 1, something
# failed; 2, unusable options; 77, no CUDA compiler or no GPU; 143, stopped by a signal.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() {
  sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
out='' seconds=520 recordings=1 checks=1 architectures='' only=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) checks=0 ;;
    --checks) recordings=0 ;;
    --seconds | --architectures | --programs)
      [[ -n ${2:-} ]] || usage
      case $1 in
        --seconds) seconds=$2 ;;
        --architectures) architectures=$2 ;;
        --programs) only=$2 ;;
      esac
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
[[ -n $out && $seconds =~ ^[1-9][0-9]*$ ]] || usage
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
build=${PERFMODEL_KERNELS_BUILD:-$here/../build/kernels-native}
mkdir -p "$build" && build=$(cd "$build" && pwd) || exit 2
log=$out/record.log
work=$(mktemp -d "$build/run.XXXXXX")
mkdir "$work/recordings"
: >"$log"
left() { echo $((seconds - SECONDS)); }

status=0 summary=()
say() {
  echo "record: $*" | tee -a "$log"
}
note() {
  summary+=("$*")
  say "$*"
}

# --- what is kept, whatever happens ---------------------------------------------------------------

archive() {
  local beside=$out/.recordings.$BASHPID
  cp "$log" "$work/record.log"
  tar -C "$work" --exclude='*.new' -czf "$beside" recordings record.log &&
    mv "$beside" "$out/recordings.tar.gz"
}
# What a running program has written is archived within seconds; where this script ends without
# notice, the program is stopped, and what it leaves is archived too.
watch_over() {
  local alive=1
  while [[ $alive -eq 1 ]]; do
    sleep 2
    if ! kill -0 "$1" 2>/dev/null; then
      alive=0
      kill -TERM "$(cat "$work/child")" 2>/dev/null && sleep 2
    fi
    if [[ -n $(find "$work/recordings" -name '*.json' -newer "$out/recordings.tar.gz") ]]; then archive; fi
  done
  rm -rf "$work"
}
watcher=''
# leave STATUS: after what still runs has written its last.
leave() {
  trap '' TERM INT
  if [[ -n $watcher ]]; then kill "$watcher" 2>/dev/null; fi
  mapfile -t running < <(jobs -p)
  if [[ ${#running[@]} -gt 0 ]]; then kill -TERM "${running[@]}" 2>/dev/null; fi
  wait
  print_summary
  archive
  rm -rf "$work"
  exit "$1"
}
trap 'note "stopped by a signal"; leave 143' TERM INT
print_summary() {
  say "$(date -u +%FT%TZ), $SECONDS s, revision $revision ${modified[*]}"
  printf '  %s\n' "${summary[@]}" | tee -a "$log"
}
revision=${PERFMODEL_REVISION:-}
modified=()
if [[ -n $revision ]]; then
  if [[ -n ${PERFMODEL_MODIFIED:-} ]]; then modified=(--modified); fi
elif revision=$(git -C "$here" rev-parse HEAD 2>/dev/null); then
  if [[ -n $(git -C "$here" status --porcelain 2>/dev/null) ]]; then modified=(--modified); fi
else
  revision=unknown
fi

# --- the compiler, its libraries, the device ------------------------------------------------------

# The folders of NVIDIA's packages for Python, such as .../site-packages/nvidia/cu13.
python_folders() {
  local python sites
  for python in python3 python; do
    command -v "$python" >/dev/null || continue
    sites=$("$python" -c 'import site, sys; print("\n".join([*site.getsitepackages(), site.getusersitepackages(), *sys.path]))' 2>/dev/null) || continue
    while read -r site; do
      for folder in "$site"/nvidia/cu[0-9]* "$site"/nvidia/cuda_nvcc "$site"/nvidia/cublas; do
        if [[ -n $site && -d $folder ]]; then echo "$folder"; fi
      done
    done < <(sort -u <<<"$sites")
  done
}
find_nvcc() {
  local folder
  command -v nvcc && return
  for folder in "${CUDA_HOME:-/}" "${CUDA_PATH:-/}" /usr/local/cuda /opt/cuda \
    $(printf '%s\n' /usr/local/cuda-* | sort -rV) $(python_folders); do
    if [[ -x $folder/bin/nvcc ]]; then
      echo "$folder/bin/nvcc"
      return
    fi
  done
  return 1
}
if ! nvcc=$(find_nvcc) || ! "$nvcc" --version >>"$log" 2>&1; then
  note 'skipped: the CUDA compiler nvcc is not on this machine, or does not run'
  leave 77
fi
toolkit=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)

mapfile -t options <"$here/kernels/nvcc_options"
options+=(-allow-unsupported-compiler)
libraries=(-ldl)
cublaslt=''
for folder in "${PERFMODEL_CUBLASLT_DIR:-/nowhere}" "$toolkit" "$toolkit"/targets/*-linux \
  $(python_folders) /usr; do
  for library in "$folder"/{lib64,lib,lib/x86_64-linux-gnu,lib/aarch64-linux-gnu}/libcublasLt.so{,.13,.12}; do
    if [[ -z $cublaslt && -e $library && -e $folder/include/cublasLt.h ]]; then
      cublaslt=$library
      options+=("-isystem=$folder/include")
      libraries+=("$library" -Xlinker=-rpath "-Xlinker=$(dirname "$library")")
    fi
  done
done
if [[ -z $cublaslt ]]; then
  options+=(-DPERFMODEL_HAS_CUBLASLT=0)
  status=1
  note 'MISSING: cuBLASLt (cublasLt.h and libcublasLt.so). No products, steps, experts or overlap will be measured. PERFMODEL_CUBLASLT_DIR names its folder'
fi

# Compute capability of the first GPU, in tens; empty without one.
ask_device() {
  local said
  said=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
  if [[ ! $said =~ ^[0-9]+\.[0-9]$ ]]; then
    cat >"$work/ask.cu" <<'END'
#include <cuda_runtime.h>
#include <cstdio>
int main() {
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess) return 1;
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
  std::printf("%d.%d\n", major, minor);
}
END
    "$nvcc" -allow-unsupported-compiler "$work/ask.cu" -o "$work/ask" >>"$log" 2>&1 || return 0
    said=$("$work/ask" 2>/dev/null) || return 0
  fi
  echo "${said/./}"
}
device=$(ask_device)
if [[ -z $device && -z $architectures ]]; then
  note 'skipped: no NVIDIA GPU on this machine'
  leave 77
fi
# What nvcc is to make for an architecture: its own instructions (90a) where it has some, and for one
# that nvcc does not know, what the driver can compile.
known=" $("$nvcc" --list-gpu-code 2>/dev/null | tr '\n' ' ') "
code_of() {
  local number=${1%a} older
  if [[ $known == *" sm_$number "* ]]; then
    [[ $number -lt 90 ]] || number+=a
    echo "-gencode=arch=compute_$number,code=sm_$number"
  else
    older=$(tr ' ' '\n' <<<"$known" | sed -n 's/^sm_//p' | sort -n |
      awk -v most="$number" '$1 <= most { best = $1 } END { print best }')
    echo "-gencode=arch=compute_$older,code=compute_$older"
  fi
}
for architecture in ${architectures:-$device}; do options+=("$(code_of "$architecture")"); done
say "nvcc $nvcc, cuBLASLt ${cublaslt:-none}, device ${device:-none}: ${options[*]}"
nvidia-smi >>"$log" 2>&1

# --- building -------------------------------------------------------------------------------------

# The quick ones, on which others rest, first.
names=(launch pointer_chase memory_stream arithmetic_peak shared_memory littles_law fusion gemm_sweep
  attention decode_step moe transfer energy)
for source in "$here"/kernels/*.cu; do
  name=$(basename "$source" .cu)
  [[ " ${names[*]} " == *" $name "* ]] || names+=("$name")
done
if [[ -n $only ]]; then read -ra names <<<"$only"; fi

made_from=$({
  "$nvcc" --version
  echo "${options[*]} ${libraries[*]}"
  find "$here/kernels" "$here/recording" -type f | LC_ALL=C sort | xargs cksum
} | cksum)
compile() {
  local name=$1
  if [[ -x $build/$name && $(cat "$build/$name.from" 2>/dev/null) == "$made_from" ]]; then return; fi
  rm -f "$build/$name"
  local most=$((seconds * 6 / 10 - SECONDS))
  if [[ $most -lt 1 ]]; then
    echo 'error: no time left to compile it' >"$build/$name.log"
  elif timeout "$most" "$nvcc" "${options[@]}" "$here/kernels/$name.cu" -o "$build/$name.new" "${libraries[@]}" \
    >"$build/$name.log" 2>&1; then
    mv "$build/$name.new" "$build/$name"
    echo "$made_from" >"$build/$name.from"
  fi
}
say "building ${#names[@]} programs"
at_once=$(nproc) running=0
for name in "${names[@]}"; do
  if [[ $running -ge $at_once ]]; then
    wait -n
    running=$((running - 1))
  fi
  compile "$name" &
  running=$((running + 1))
done
wait
for name in "${names[@]}"; do
  if [[ ! -x $build/$name ]]; then
    note "$name: NOT BUILT: $(grep -m 1 -E 'error|fatal|unsupported' "$build/$name.log")"
    status=1
  fi
  cat "$build/$name.log" >>"$log" 2>/dev/null
done
say "built in $SECONDS s"
if [[ -z $device ]]; then
  note 'skipped: no NVIDIA GPU on this machine; the programs are built'
  [[ $status -eq 0 ]] || leave 1
  leave 77
fi

# --- recordings -----------------------------------------------------------------------------------

# Other processes' share of the machine between programs, when none of these runs: "6.2 of 8 cores".
# Nothing where three quarters are idle, or where there is no /proc/stat. PERFMODEL_PROC: its folder.
busy_cores() {
  local stat=${PERFMODEL_PROC:-/proc}/stat before
  before=$(grep -m 1 '^cpu ' "$stat" 2>/dev/null) || return 0
  sleep 0.3
  { echo "$before"; grep -m 1 '^cpu ' "$stat"; } | awk -v cores="$(nproc)" '
    { all = 0; for (i = 2; i <= NF && i <= 9; ++i) all += $i; idle = $5 + $6 }
    NR == 1 { all_before = all; idle_before = idle }
    NR == 2 && all > all_before {
      share = 1 - (idle - idle_before) / (all - all_before)
      if (share > 0.25) printf "%.1f of %d cores", share * cores, cores
    }'
}
# Why the GPU cannot run at its highest clock even when idle, from the driver; nothing if it can.
held_back() {
  local name reasons='' text=''
  for name in clocks_event_reasons.active clocks_throttle_reasons.active; do
    [[ $reasons =~ ^0x[0-9a-fA-F]+$ ]] ||
      reasons=$(nvidia-smi --query-gpu="$name" --format=csv,noheader 2>/dev/null | head -n 1)
  done
  [[ $reasons =~ ^0x[0-9a-fA-F]+$ ]] || return 0
  (((reasons & 0x02) == 0)) || text+=', a lower clock was set'
  (((reasons & 0x88) == 0)) || text+=', hardware or its power supply slows it down'
  (((reasons & 0x60) == 0)) || text+=', heat'
  echo "${text#, }"
}
# look_around NAME: says what would be in the program's times and is not its own.
look_around() {
  local busy why
  busy=$(busy_cores)
  [[ -z $busy ]] || note "$1: BUSY CPU: other processes use $busy"
  why=$(held_back)
  [[ -z $why ]] || note "$1: THROTTLED GPU: $why"
}

record() {
  look_around "$1"
  local name=$1 most=$2 began=$SECONDS code=0 to=$work/recordings/$1.json
  timeout -k 5 "$((most + 5))" "$build/$name" --out "$to" --seconds "$most" --revision "$revision" \
    "${modified[@]}" >"$work/said" 2>&1 &
  echo $! >"$work/child"
  wait $! || code=$?
  cat "$work/said" >>"$log"
  case $code in
    0) note "$name: recorded in $((SECONDS - began)) s" ;;
    77)
      note "$name: skipped: $(sed -n 's/^.*skipped: //p' "$work/said" | tail -n 1)"
      skipped=$((skipped + 1))
      ;;
    *)
      status=1
      [[ $code -ne 3 && $code -ne 124 && $code -ne 137 ]] || code="$code: stopped after $((SECONDS - began)) s"
      if [[ -e $to ]]; then note "$name: recorded IN PART ($code)"; else note "$name: FAILED ($code)"; fi
      grep -E 'check failed|failed:|: error|terminate' "$work/said" | sort -u | head -n 3 | tee -a "$log"
      ;;
  esac
  archive
}
skipped=0 done=0
if [[ $recordings -eq 1 ]]; then
  archive
  watch_over $$ >/dev/null 2>&1 </dev/null &
  watcher=$!
  for name in "${names[@]}"; do
    done=$((done + 1))
    [[ -x $build/$name ]] || continue
    # Three times a fair share of what is left, and a minute at most.
    most=$((3 * ($(left) - 5) / (${#names[@]} - done + 1)))
    if [[ $most -gt $(($(left) - 5)) ]]; then most=$(($(left) - 5)); fi
    if [[ $most -gt 60 ]]; then most=60; fi
    if [[ $most -lt 3 ]]; then
      note "$name: NO TIME LEFT"
      status=1
      continue
    fi
    record "$name" "$most"
  done
  say "recorded after $SECONDS s"
  if [[ $skipped -eq ${#names[@]} ]]; then leave 77; fi
fi
[[ $checks -eq 1 ]] || leave "$status"

# --- what else there is time for ------------------------------------------------------------------

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
mkdir "$work/trials"
started=0 running=()
wait_for_oldest() {
  wait "${running[0]}"
  running=("${running[@]:1}")
}
# try SECONDS FUNCTION ARGUMENTS...: where so much time is left.
try() {
  if [[ ${#running[@]} -ge 4 ]]; then wait_for_oldest; fi
  if [[ $(left) -lt $1 ]]; then
    note "${*:3}: no time left"
    return
  fi
  "${@:2}" >"$work/trials/$(printf '%04d' $started)" &
  started=$((started + 1)) running+=($!)
}
for name in "${names[@]}"; do
  [[ -x $build/$name ]] || continue
  while read -r fault; do
    try 45 try_fault "$name" "$fault"
  done < <("$build/$name" --faults)
done
sanitizer=$(PATH=$PATH:$toolkit/bin:/usr/local/cuda/bin command -v compute-sanitizer)
for tool in memcheck racecheck initcheck synccheck; do
  for name in "${names[@]}"; do
    if [[ -n $sanitizer && -x $build/$name ]]; then try 65 try_sanitizer "$tool" "$name"; fi
  done
done
while [[ ${#running[@]} -gt 0 ]]; do wait_for_oldest; done
for trial in "$work"/trials/*; do
  [[ -s $trial ]] || continue
  note "$(head -n 1 "$trial")"
  tail -n +2 "$trial" | tee -a "$log"
  if grep -qE ': (NOT noticed|FAILED) ' "$trial"; then status=1; fi
done
[[ -n $sanitizer ]] || note 'compute-sanitizer is not on this machine'
leave "$status"
