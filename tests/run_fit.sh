#!/usr/bin/env bash
# run_fit.sh <program> <source folder>: runs a fit on the published measurements, to its end.
# shellcheck disable=SC2034,SC2154
program=$1
source_dir=$2
. "$(dirname "$0")/cli/lib.bash"
needs_measurements
exec "$program" "$measured"
