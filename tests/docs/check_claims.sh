#!/usr/bin/env bash
# check_claims.sh <source folder>: build instructions of the pages work as they stand, and claims that were found
# false are not made again. Prose is searched across line breaks, without code and outputs.
set -euo pipefail
cd "$1"
status=0
complain() {
  echo "$*"
  status=1
}

# --- build instructions ---------------------------------------------------------------------------

pages=$(mktemp)
trap 'rm -f "$pages"' EXIT
find README.md CONTRIBUTING.md docs examples validation -name '*.md' >"$pages"
while IFS= read -r page; do
  # Without a build type a step takes 16 times as long; without a generator CMake asks for make.
  while IFS= read -r line; do
    for flag in '-DCMAKE_BUILD_TYPE=' '-G '; do
      [[ $line == *"$flag"* ]] || complain "$page: $line: without $flag"
    done
  done < <(awk '/^```/ { code = !code; next } code && /cmake .*-S / { print }' "$page")
  if grep -q 'perfmodel::tools' "$page" && ! grep -q 'COMPONENTS tools' "$page"; then
    complain "$page: perfmodel::tools without COMPONENTS tools"
  fi
  if grep -q 'calibrate_machine\.hpp\|calibrate_service\.hpp' "$page" && grep -q 'needs Eigen' "$page" &&
      ! grep -q 'perfmodel::tools' "$page"; then
    complain "$page: a header that needs Eigen, without the target to link"
  fi
done <"$pages"
for page in README.md CONTRIBUTING.md; do
  grep -q 'system-wide' "$page" || complain "$page: ./run installs packages system-wide, which the page does not say"
done

# --- claims ---------------------------------------------------------------------------------------

# <pattern>|<why it is false>
claims='nothing runs faster|a service may: say whose time the bound is of
what nothing is (faster|quicker) than|a service may be: say whose time the bound is of
serving estimate,? [0-9]|a time of a service names its mode (bound, calibrated) and its loop
no parameter (of a law )?was fitted to|latencies, a form and tolerances came from the recording
samples (of [0-9]+ points )?(were taken )?at a lowered clock|the filter sees a sample in its own point alone
[Ff]ive accelerators have one|eight have a profile of GEMMs'
while IFS= read -r page; do
  prose=$(awk '/^ *```/ { code = !code; next } !code { print }' "$page" | tr -s ' \n' ' ')
  while IFS='|' read -r claim; do
    pattern=${claim%|*} why=${claim##*|}
    found=$(grep -oE ".{0,40}($pattern).{0,20}" <<<"$prose" | head -n 1) || true
    [[ -z $found ]] || complain "$page: \"$found\": $why"
  done <<<"$claims"
done < <(grep -v '^docs/decisions/' "$pages")

# --- counts that pages and code must share --------------------------------------------------------

page=docs/how-to/calibrate_a_gpu.md
numbers=(zero one two three four five six seven eight nine ten eleven twelve)
fitted=$(sed -nE 's/.*std::array<fitted_parameter, ([0-9]+)> fitted_machine_parameters.*/\1/p' \
  tools/library/perfmodel/tools/fit/calibrate_machine.hpp)
profiles=$(cat include/perfmodel/kernels/catalog/*.hpp | grep -c ' profile_[a-z0-9_]* = fitted_to(')
says() { grep -qi "$1" "$page" || complain "$page: does not say \"$1\""; }
says "${numbers[fitted]} of its parameters"
says "${numbers[profiles]} accelerators have"
grep -qi "${numbers[profiles]} accelerators have" docs/laws/calibrated_gemm.md ||
  complain "docs/laws/calibrated_gemm.md: another number of profiles than $profiles"

[[ $status -ne 0 ]] || echo "$(wc -l <"$pages") pages: build instructions and claims hold"
exit "$status"
