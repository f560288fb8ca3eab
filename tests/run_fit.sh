#!/usr/bin/env bash
# run_fit.sh <program> <what> <source folder>: runs a fit on the published measurements, to its end.
# shellcheck disable=SC2034,SC2154
program=$1
what=$2
source_dir=$3
. "$(dirname "$0")/cli/lib.bash"
needs_measurements
exec "$program" "$what" "$measured"
