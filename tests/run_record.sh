#!/usr/bin/env bash
# run_record.sh <source dir> <emulated programs' folder> <check_recordings>: what validation/record.sh leaves
# when it ends as it should, when it is stopped and when it is killed. An emulated device takes the GPU's
# place, and what stands in for nvcc hands out programs that are built.
set -euo pipefail
source_dir=$1 emulated=$2 check=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "run_record: $*" >&2
  tail -n 20 "$work"/*/record.log >&2
  exit 1
}
mkdir "$work/bin"
cat >"$work/bin/nvcc" <<END
#!/usr/bin/env bash
case \$1 in
  --version) echo 'stands in for nvcc' ;;
  --list-gpu-code) printf 'sm_%s\n' 80 90 100 ;;
  *)
    while [[ \$# -gt 0 ]]; do
      case \$1 in
        *.cu) name=\$(basename "\$1" .cu) ;;
        -o) to=\$2 ;;
      esac
      shift
    done
    case \$name in
      ask) printf '#!/bin/sh\nexit 1\n' >"\$to" && chmod +x "\$to" ;;  # as where there is no device
      energy) echo 'energy.cu(1): error: does not compile' && exit 1 ;;
      *) cp "$emulated/emulated_\$name" "\$to" ;;
    esac
    ;;
esac
END
printf '#!/bin/sh\necho 9.0\n' >"$work/bin/nvidia-smi"
chmod +x "$work"/bin/*
mkdir -p "$work"/cublas/{include,lib}
touch "$work"/cublas/{include/cublasLt.h,lib/libcublasLt.so}
export PATH=$work/bin:$PATH PERFMODEL_KERNELS_BUILD=$work/build PERFMODEL_REVISION=unknown
export PERFMODEL_CUBLASLT_DIR=$work/cublas

# holds <out> <program> <text>: the archive has the program's recording, and it reads as that.
holds() {
  rm -rf "$work/unpacked" && mkdir "$work/unpacked"
  tar -C "$work/unpacked" -xzf "$1/recordings.tar.gz" || fail "$1: the archive cannot be read"
  [[ -s $work/unpacked/record.log ]] || fail "$1: the archive has no log"
  said=$("$check" "$work/unpacked/recordings/$2.json") || fail "$1: $2.json cannot be read"
  [[ $said == *"$3"* ]] || fail "$1: $2.json: '$said', not '$3'"
}
record() {  # <status> <out> <options...>
  local status=$1 out=$2 code=0
  shift 2
  "$source_dir/validation/record.sh" "$out" "$@" >"$work/said" 2>&1 || code=$?
  [[ $code -eq $status ]] || fail "$*: exit status $code, not $status: $(cat "$work/said")"
}
# What runs long enough to be stopped in the middle: starts it, and waits for its first points.
start() {
  "$source_dir/validation/record.sh" "$1" --quick --programs 'launch memory_stream' >"$work/said" 2>&1 &
  recorder=$!
  for ((i = 0; i < 600; ++i)); do
    if tar -tzf "$1/recordings.tar.gz" 2>/dev/null | grep -q memory_stream.json; then return; fi
    sleep 0.1
  done
  fail "$1: no points of memory_stream after a minute: $(cat "$work/said")"
}

# One that does not compile costs itself alone.
record 1 "$work/whole" --quick --programs 'launch energy'
holds "$work/whole" launch points
[[ $said != *failed* ]] || fail "a whole recording: $said"
grep -q 'energy: NOT BUILT: energy.cu(1): error' "$work/said" || fail "energy: $(cat "$work/said")"
[[ $(ls -A "$work/whole") == $'record.log\nrecordings.tar.gz' ]] || fail "left: $(ls -A "$work/whole")"

goes_on() { [[ " $(readlink /proc/[0-9]*/exe)" == *"$work/build/"* || -n $(compgen -G "$work/build/run.*") ]]; }
# Stops it by a signal in the middle of a program. On a busy machine the program may end first: three tries.
code=0
interrupt() {  # <out> <signal> <exit status>
  local try i
  for try in 1 2 3; do
    rm -rf "$1"
    start "$1"
    code=0
    kill "-$2" "$recorder" 2>/dev/null || true
    wait "$recorder" 2>/dev/null || code=$?
    for ((i = 0; i < 300; ++i)); do
      goes_on || break
      sleep 0.1
    done
    tar -xzf "$1/recordings.tar.gz" -O recordings/memory_stream.json >"$work/interrupted.json" 2>/dev/null || continue
    if [[ $code -eq $3 && $("$check" "$work/interrupted.json") == *'failed: the rest'* ]]; then return; fi
  done
}
interrupt "$work/stopped" TERM 143
[[ $code -eq 143 ]] || fail "SIGTERM: exit status $code"
holds "$work/stopped" launch points
holds "$work/stopped" memory_stream 'failed: the rest'
grep -q 'stopped by a signal' "$work/unpacked/record.log" || fail 'the log does not say what happened'

interrupt "$work/killed" KILL 137
if goes_on; then fail 'a program of a killed run goes on'; fi
holds "$work/killed" launch points
holds "$work/killed" memory_stream 'failed: the rest'

code=0
"$emulated/emulated_shared_memory" --seconds 1 --out "$work/timed.json" >/dev/null 2>&1 || code=$?
[[ $code -eq 3 ]] || fail "--seconds 1: exit status $code"
said=$("$check" "$work/timed.json")
[[ $said == *'failed: the rest: its time was up'* ]] || fail "--seconds 1: $said"

# The second call, without recordings: the faults.
record 0 "$work/checks" --checks --programs launch
grep -q 'launch broken by drop_launch: noticed' "$work/said" || fail "faults: $(cat "$work/said")"

# A CPU that others use and a GPU that heat slows down are said, each before the program; a CPU that
# idles, and a power cap under load, are not. What plays /proc counts a busy share of 80 % or 10 %.
mkdir "$work/proc"
# counted <busy> <idle>: goes on until it is killed.
counted() {
  local n=1
  while :; do
    printf 'cpu %d 0 0 %d 0 0 0 0 0 0\n' $((n * $1)) $((n * $2)) >"$work/proc/stat.new"
    mv "$work/proc/stat.new" "$work/proc/stat"
    n=$((n + 1))
    sleep 0.05
  done
}
look() {  # <busy> <idle> <reasons>
  printf '#!/bin/sh\ncase $1 in *compute_cap*) echo 9.0 ;; *) echo %s ;; esac\n' "$3" >"$work/bin/nvidia-smi"
  counted "$1" "$2" &
  local counter=$!
  while [[ ! -e $work/proc/stat ]]; do sleep 0.05; done
  PERFMODEL_PROC=$work/proc record 0 "$work/look" --quick --programs launch
  kill "$counter" && wait "$counter" 2>/dev/null || true
}
for try in 1 2 3; do  # on a busy machine what counts may not come to its turn
  look 8 2 0x0000000000000041
  if grep -q 'BUSY CPU' "$work/said"; then break; fi
done
grep -q '^record: launch: BUSY CPU: other processes use .* cores$' "$work/said" || fail "a busy CPU: $(cat "$work/said")"
grep -q '^record: launch: THROTTLED GPU: heat$' "$work/said" || fail "a throttled GPU: $(cat "$work/said")"
look 1 9 0x0000000000000005
grep -qE 'BUSY|THROTTLED' "$work/said" && fail "an idle machine: $(cat "$work/said")"

rm "$work/bin/nvidia-smi"
if ! command -v nvidia-smi >/dev/null; then
  record 77 "$work/none" --programs launch
  record 77 "$work/built" --programs launch --architectures '80 90a 120'
  grep -q 'compute_90a,code=sm_90a.*compute_100,code=compute_100' "$work/said" || fail "$(cat "$work/said")"
fi
echo "run_record: $SECONDS s"
