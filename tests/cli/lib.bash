# What the tests of napkin share. Sourced with the program as $1 and the source folder as $2.
set -u
napkin=$1
# shellcheck disable=SC2034
source_dir=$2
failures=0
# Under a sanitizer a question takes 50 times as long: of many alike, some will do.
sanitized=
if grep -q __asan_init "$napkin"; then sanitized=1; fi
# some <n>: the lines of stdin; under a sanitizer every n-th.
some() { awk -v n="${sanitized:+$1}" 'n == "" || NR % n == 1'; }

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}
finish() {
  if [[ $failures -gt 0 ]]; then
    echo "$failures failures"
    exit 1
  fi
  echo "all passed"
  exit 0
}

# closed_forms: from here on a service is answered by its closed form, unless it asks for a method.
closed_forms() {
  local folder
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  cat >"$folder/napkin" <<EOF
#!/usr/bin/env bash
# The program, with the method of a service.
if [[ " \$* " == *' batch '* ]]; then
  sed -E 's/("query": ?"serving")/\\1,"method":"closed_form"/' | '$napkin' "\$@"
elif [[ " \$* " == *' serving '* && " \$* " != *' --method '* && " \$* " != *' audit '* ]]; then
  '$napkin' "\$@" --method closed_form
else
  '$napkin' "\$@"
fi
EOF
  chmod +x "$folder/napkin"
  napkin=$folder/napkin
}

# number <json> <key>: the number that stands at the key, or nothing.
number() { sed -nE "s/.*\"$2\":(-?[0-9][0-9.eE+-]*)[,}].*/\1/p" <<<"$1" | head -n 1; }

# near <what> <actual> <expected> <tolerance>
near() {
  if [[ -z $2 ]] || ! awk -v a="$2" -v e="$3" -v t="$4" 'BEGIN { d = a - e; if (d < 0) d = -d; exit !(d <= t) }'; then
    fail "$1 is '$2', not $3 within $4"
  fi
}

# ask <query> <key> <expected> <tolerance> <arguments...>: the answer in JSON has that number.
ask() {
  local query=$1 key=$2 expected=$3 tolerance=$4 answer
  shift 4
  if ! answer=$("$napkin" "$query" "$@" --json); then
    fail "napkin $query $*: exit status not 0"
    return
  fi
  near "napkin $query $*: $key" "$(number "$answer" "$key")" "$expected" "$tolerance"
}

# refuses <code> <arguments...>: exit status 2, nothing on stdout, one line on stderr with the code, which is
# `said` afterwards.
said=
refuses() {
  local code=$1 status
  shift
  said=$({ "$napkin" "$@" | sed 's/^/on stdout: /'; exit "${PIPESTATUS[0]}"; } 2>&1)
  status=$?
  [[ $status -eq 2 ]] || fail "napkin $*: exit status $status, not 2"
  [[ $said != 'on stdout: '* && $said != *$'\non stdout: '* ]] || fail "napkin $*: prints '$said' though it fails"
  [[ $said != *$'\n'* && $said == *"$code"* ]] || fail "napkin $*: says '$said', not one line with $code"
}

# needs_python: skips the test without python3.
needs_python() {
  command -v python3 >/dev/null && return
  echo 'skipped: python3 is not installed'
  exit 77
}

# needs_measurements: `measured` is the folder of published measurements, which are not part of this
# repository. Skips the test without it; fails where PERFMODEL_SHARED promises it. Of shared_*.sh.
needs_measurements() {
  measured=${PERFMODEL_SHARED:-$source_dir/../shared}/measured
  if [[ ! -d $measured ]]; then
    if [[ -n ${PERFMODEL_SHARED:-} ]]; then
      echo "FAIL: PERFMODEL_SHARED is set, and there is no folder $measured"
      exit 1
    fi
    echo 'skipped: needs published measurements that are not in this repository; set PERFMODEL_SHARED'
    exit 77
  fi
}

# What a calibration takes: the catalogue's H100, timed by its own model. own_times >TIMES, in seconds;
# table_of TIMES <unit> <factor>: as a table of that unit.
sizes() {
  for n in 1024 2048 4096 8192 12288; do
    for k in 1024 4096 8192; do
      for m in 1 16 64 128 256 512 1024 2048 4096 8192 16384; do echo "$m $n $k"; done
    done
  done
}
own_times() {
  sizes | awk '{ printf "{\"query\":\"gemm\",\"accelerator\":\"h100_sxm\",\"m\":%d,\"n\":%d,\"k\":%d,\"weight_copies\":0}\n", $1, $2, $3 }' |
    "$napkin" batch | sed -nE 's/^\{"time_s":([^,]*),.*/\1/p'
}
table_of() {
  echo "gpu,backend,dtype,m,n,k,$2"
  sizes | paste -d' ' - "$1" | awk -v f="$3" '{ printf "here,none,bf16,%d,%d,%d,%.9g\n", $1, $2, $3, f * $4 }'
}
