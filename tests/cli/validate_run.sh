#!/usr/bin/env bash
# ./run validate from beginning to end on a machine that seems to have a GPU: programs that hand out the
# recordings of an H200 take the place of those that nvcc would build, and built ones that of CMake's.
. "$(dirname "$0")/lib.bash"
compare=$(realpath "$(dirname "$napkin")/../../validation/compare/compare")
if [[ ! -x $compare ]]; then
  echo 'skipped: validation/compare is not built'
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A checkout of links, whose reports can be written and whose recordings are few.
mkdir -p "$work/tree/validation" "$work/bin" "$work/build/release/tools/napkin"
for name in CMakeLists.txt CMakePresets.json cmake include tools docs; do ln -s "$source_dir/$name" "$work/tree/$name"; done
for name in kernels recording host compare record.sh; do ln -s "$source_dir/validation/$name" "$work/tree/validation/$name"; done
cp "$source_dir/run" "$work/tree/run"
mkdir -p "$work/tree/validation/reports" "$work/tree/validation/recordings"
cp -r "$source_dir/validation/recordings/rtx_5080" "$work/tree/validation/recordings/"
ln -s "$(realpath "$napkin")" "$work/build/release/tools/napkin/napkin"
touch "$work/build/.napkin"

# What nvcc makes of a program writes its recording of the H200; of `energy`, whose clock stands, nothing.
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
    {
      echo '#!/usr/bin/env bash'
      echo "recorded='$source_dir/validation/recordings/h200_sxm_2/\$name.json'"
      echo 'while [[ \$1 != --out ]]; do shift; done'
      echo 'cp "\$recorded" "\$2"'
    } >"\$to"
    chmod +x "\$to"
    ;;
esac
END
cat >"$work/bin/nvidia-smi" <<'END'
#!/bin/sh
case $1 in *compute_cap*) echo 9.0 ;; *event_reasons*) echo 0x0000000000000041 ;; esac
END
cat >"$work/bin/cmake" <<END
#!/usr/bin/env bash
case \$1 in
  --version) echo 'cmake version 3.28.0' ;;
  --preset)
    mkdir -p '$work/build/release'
    printf 'CMAKE_GENERATOR:INTERNAL=Ninja\n' >'$work/build/release/CMakeCache.txt'
    touch '$work/build/release/build.ninja'
    ;;
  --build)
    mkdir -p "\$2/validation/compare" "\$2/validation/host"
    ln -sf '$compare' "\$2/validation/compare/compare"
    printf '#!/bin/sh\nmkdir -p "\$2" && cp %s/*.json "\$2"\n' '$source_dir/validation/recordings/amd_epyc' \
      >"\$2/validation/host/measure_host"
    chmod +x "\$2/validation/host/measure_host"
    ;;
esac
END
chmod +x "$work"/bin/*
mkdir -p "$work"/cublas/{include,lib}
touch "$work"/cublas/{include/cublasLt.h,lib/libcublasLt.so}
export PATH=$work/bin:$PATH PERFMODEL_NO_INSTALL=1 PERFMODEL_BUILD_DIR=$work/build PERFMODEL_REVISION=unknown
export PERFMODEL_CUBLASLT_DIR=$work/cublas
validate() { (cd "$work/tree" && ./run validate) >"$work/said" 2>&1; }

validate || fail "validate: exit status $?: $(cat "$work/said")"
now=$(echo "$work"/build/validate/*)
programs=$(find "$source_dir/validation/kernels" -maxdepth 1 -name '*.cu' | wc -l)
for expected in "validate: program 1 of $programs: launch: recorded in" "validate: program $programs of $programs: " \
  'validate: launch: THROTTLED GPU: heat' "validate: THROTTLED GPU before $programs programs: all times may be too long" \
  'validate: measuring this CPU' 'your NVIDIA H200, predicted over measured' '  GEMMs: ' '  steps of eight layers: ' \
  'ran more than 3 % below the tensor clock' '  held out ' \
  "validate: profile written to $now/profile.json; use it: napkin plan --accelerator h200_sxm --profile $now/profile.json" \
  "validate: predicted over measured by quantity: $now/report/predicted_over_measured_h200_sxm.svg" \
  "validate: what was measured just now is in $now: report/report.md, recordings and logs"; do
  grep -qF "$expected" "$work/said" || fail "validate does not say '$expected': $(cat "$work/said")"
done
[[ $(tail -n 1 "$work/said") == "validate: what was measured just now is in $now"* ]] || fail 'the last line'
for file in report/report.md report/quantities.md report/predicted_over_measured_h200_sxm.svg report/roofline_h200_sxm.svg \
  profile.json profile.txt gpu.log gpu/record.log gpu/recordings.tar.gz gpu/recordings/gemm_sweep.json host/gemm_sweep.json; do
  [[ -s $now/$file ]] || fail "validate leaves no $file"
done
grep -q '| h200_sxm | gemm_time | 468 ' "$now/report/report.md" || fail 'the page has no scores of the GPU'
answer=$("$napkin" gemm --accelerator h200_sxm --m 1 --n 8192 --k 8192 --profile "$now/profile.json" --json)
[[ $answer == *'"profile":{"name":"h200_sxm","basis":"measured"'*'read from '* ]] || fail "the profile of validate: $answer"

# The next run keeps what there is. Without a GPU: a reason, and the rest as before.
rm "$work/bin/nvidia-smi" "$work/bin/nvcc"
if ! command -v nvidia-smi >/dev/null; then
  sleep 1
  validate || fail "validate without a GPU: exit status $?: $(cat "$work/said")"
  [[ -s $now/profile.json && $(find "$work/build/validate" -mindepth 1 -maxdepth 1 | wc -l) -eq 2 ]] || fail 'a run deletes another'
  grep -q '^validate: skipped the GPU: ' "$work/said" || fail "without a GPU: $(cat "$work/said")"
  grep -q '^your ' "$work/said" && fail 'words on a GPU without one'
fi
finish
