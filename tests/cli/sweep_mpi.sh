#!/usr/bin/env bash
# napkin sweep --mpi: ranks of mpirun print what one prints.
. "$(dirname "$0")/lib.bash"
grid=(sweep step --model llama_3_70b --accelerator h100_sxm --over tensor_parallel=1,8 --over batch=1..9:9 --over context=1k,8k)

if ! ldd "$napkin" 2>&1 | grep -qi libmpi; then
  refuses 'without MPI' "${grid[@]}" --mpi
  [[ $failures -eq 0 ]] || finish
  echo 'skipped: napkin was built without MPI'
  exit 77
fi
if [[ -z $(command -v mpirun) || -n $sanitized ]]; then
  echo 'skipped: needs mpirun, and a build without sanitizers'
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=()
if [[ $(id -u) -eq 0 ]] && mpirun --help root 2>&1 | grep -qi 'allow-run-as-root\|Open MPI\|OpenRTE'; then root=(--allow-run-as-root); fi
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
# A terminal that shows styles: mpirun gives each rank a pseudo-terminal.
ranks() { TERM=xterm mpirun "${root[@]}" -n "$1" "$napkin" "${@:2}" --mpi 2>"$folder/said"; }
if ! ranks 1 sweep ridge --format bf16 --over accelerator=h100_sxm >/dev/null; then
  echo "skipped: mpirun does not run here: $(tail -n 3 "$folder/said")"
  exit 77
fi
for options in --csv --json '--format md' '' '--pareto time_s,max:batch' '--best time_s --csv' '--csv --shard 2/3'; do
  # shellcheck disable=SC2086
  "$napkin" "${grid[@]}" $options >"$folder/one"
  for n in 1 2 3; do
    # shellcheck disable=SC2086
    ranks $n "${grid[@]}" $options >"$folder/several" || fail "$n ranks, $options: status $?: $(cat "$folder/said")"
    cmp -s "$folder/one" "$folder/several" || fail "$n ranks print another table with '$options'"
  done
done
# The error of a point on the last rank makes the status of the whole.
bad=(sweep step --accelerator h100_sxm --batch 1 --context 9 --over model=llama_3_8b,mistral_7b,no_such --csv)
"$napkin" "${bad[@]}" >"$folder/one"
ranks 2 "${bad[@]}" >"$folder/several" && fail 'an error on rank 1 has status 0'
cmp -s "$folder/one" <(sed '/^$/d' "$folder/several" | grep -E '^(model|llama|mistral|no_such)') || fail 'errors differ with ranks'
finish
