#!/usr/bin/env bash
# draw.sh <napkin> [picture...]: draws the pictures of docs/laws, or those that are named.
# It needs gnuplot and jq. A function per picture writes its data; <picture>.gp draws them.
# "Measured" are the recordings of validation/recordings/h200_sxm, to which no profile was fitted.
# shellcheck disable=SC2086,SC2089,SC2090  # the quotes are JSON, and what is unquoted are numbers
set -euo pipefail
napkin=$(realpath "$1")
shift
cd "$(dirname "$0")"
recordings=$PWD/../../validation/recordings/h200_sxm
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

ask() { "$napkin" batch; }
powers() { awk -v from="$1" -v to="$2" -v by="${3:-2}" 'BEGIN { for (x = from; x <= to; x *= by) print x }'; }
# The median of the samples of each point, as `time`
points() { jq -c '.points[] | .parameters + {quantity, time: (.samples | sort | .[length / 2 | floor])}' "$recordings/$1.json"; }
llama='"model":"llama_3_1_70b","accelerator":"h100_sxm"'

roofline() {
  points gemm_sweep | jq -r 'select(.format == "bf16" and .cache == "cold") |
    [.flop / (.bytes_read + .bytes_written), .flop / .time / 1e12] | @tsv' >"$data/measured"
}

iron_law() { :; }

littles_law() {
  points littles_law | jq -r 'select(.cache == "cold") |
    [.bytes_in_flight / 1e6, .bytes_read / .time / 1e12, .loads_per_thread] | @tsv' >"$data/measured"
}

warp() { :; }

cost() { :; }

energy() { :; }

queueing() { :; }

moe() {
  points moe | jq -r 'select(.quantity == "experts_touched" and .experts == 128) | [.tokens, .time] | @tsv' >"$data/touched"
  points moe | jq -r 'select(.quantity == "moe_time" and .hidden == 2048 and .experts == 128 and .format == "bf16" and .cache == "cold") |
    [.tokens, .time * 1e6] | @tsv' | sort -g | awk '$1 != x { if (NR > 1) print x, best; x = $1; best = $2 } $2 < best { best = $2 } END { print x, best }' >"$data/measured"
  for t in $(powers 1 4096); do
    echo '{"query":"moe_ffn","accelerator":"h200_sxm","tokens":'$t',"hidden":2048,"intermediate":768,"experts":128,"top_k":8,"routing":"random","weight_copies":0,"id":"'$t'"}'
  done | ask | jq -r '[(.id | tonumber), .bound_time_s * 1e6, .time_s * 1e6, (.interval_80_s[] * 1e6)] | @tsv' >"$data/law"
}

kv_cache() {
  for case in "8 bf16" "4 bf16" "4 fp8" "2 fp8"; do
    read -r tp weights <<<"$case"
    for c in $(powers 1024 131072); do
      echo '{"query":"kv_capacity",'$llama',"tensor_parallel":'"$tp"',"engine":"vllm","weight_format":"'"$weights"'","context":'"$c"',"id":"'"$c"'"}'
    done | ask | jq -r 'select(.feasible) | [(.id | tonumber), .sequences] | @tsv' >"$data/$tp$weights"
  done
}

attention() {
  points attention | jq -r 'select(.quantity == "attention_prefill_time" and .batch == 1) | [.variant, .tokens, .time * 1e3] | @tsv' >"$data/measured"
  for t in $(powers 512 16384); do
    echo '{"query":"attention_prefill","accelerator":"h200_sxm","batch":1,"tokens":'$t',"query_heads":32,"kv_heads":8,"head_dim":128,"engine":"vllm","id":"'$t'"}'
  done | ask | jq -r '[(.id | tonumber), .bound_time_s * 1e3, .time_s * 1e3] | @tsv' >"$data/law"
}

calibrated_attention() {
  for c in $(powers 128 65536); do
    echo '{"query":"attention_decode","accelerator":"h200_sxm","batch":64,"context":'$c',"query_heads":8,"kv_heads":1,"head_dim":128,"engine":"vllm","weight_copies":1,"id":"'$c'"}'
  done | ask | jq -r '[(.id | tonumber), .bound_time_s * 1e6, .time_s * 1e6, (.interval_80_s[] * 1e6)] | @tsv' >"$data/law"
}

calibrated_gemm() {
  points gemm_sweep | jq -r 'select(.format == "bf16" and .cache == "cold" and .n == 14336 and .k == 4096) |
    [.m, .time * 1e6] | @tsv' >"$data/measured"
  for m in $(powers 1 8192); do
    echo '{"query":"gemm","accelerator":"h200_sxm","m":'$m',"n":14336,"k":4096,"weight_copies":0,"id":"'$m'"}'
  done | ask | jq -r '[(.id | tonumber), .bound_time_s * 1e6, .time_s * 1e6, (.interval_80_s[] * 1e6)] | @tsv' >"$data/law"
}

collectives() {
  for who in nccl custom; do
    for b in $(powers 1024 1073741824); do
      echo '{"query":"collective","accelerator":"h100_sxm","operation":"all_reduce","ranks":8,"bytes":'"$(printf %.0f "$b")"',"implementation":"'$who'","id":"'"$b"'"}'
    done | ask | jq -r '[(.id | tonumber), .bound_time_s * 1e6, .time_s * 1e6] | @tsv' >"$data/$who"
  done
}

parallelism() {
  for tp in 1 2 4 8; do
    echo '{"query":"step","model":"llama_3_1_70b","accelerator":"h200_sxm","weight_format":"fp8","tensor_parallel":'$tp',"engine":"vllm","batch":16,"context":2048,"id":"'$tp'"}'
  done | ask | jq -r '[(.id | tonumber), .bound_time_s * 1e3, .time_s * 1e3, (.terms.communication // 0) * 1e3] | @tsv' >"$data/law"
}

speculative() {
  for a in 0.6 0.7 0.8 0.9; do
    for k in $(seq 1 16); do
      echo '{"query":"speculation","acceptance":'$a',"draft_length":'"$k"',"draft_cost_ratio":0.05,"id":"'"$k"'"}'
    done | ask | jq -r '[(.id | tonumber), .emitted_tokens, .speedup] | @tsv' >"$data/$a"
  done
}

speculation_in_a_service() {
  for context in 512 4096 32768; do
    for b in $(powers 1 256); do
      for k in 1 5; do
        echo '{"query":"step",'$llama',"tensor_parallel":8,"engine":"vllm","batch":'"$b"',"context":'$context',"tokens_per_sequence":'$k',"id":"'"$b"'"}'
      done
    done | ask | jq -r '[(.id | tonumber), .time_s] | @tsv' |
      awk 'NR % 2 { plain = $2; next } { print $1, plain / $2 * (1 - 0.75 ^ 5) / 0.25 }' >"$data/$context"
  done
}

step() {
  for b in $(powers 1 256); do
    echo '{"query":"step",'$llama',"tensor_parallel":8,"engine":"vllm","batch":'"$b"',"context":4096,"id":"'"$b"'"}'
  done | ask | jq -r '[.id, (.terms | .linear, .attention, .other, .communication, .host), .bound_time_s] |
    [.[0], (.[1:][] * 1e3)] | @tsv' >"$data/law"
}

serving() {
  for b in 1 2 4 8 16 24 32 48 64 96 128 192 256; do
    echo '{"query":"serving",'$llama',"tensor_parallel":8,"engine":"vllm","input_tokens":2048,"output_tokens":512,"concurrency":'$b',"id":"'$b'"}'
  done >"$data/requests"
  ask <"$data/requests" | jq -r '[(.id | tonumber), .itl_s * 1e3, (.itl_interval_80_s[] * 1e3), .ttft_s * 1e3, (.ttft_interval_80_s[] * 1e3),
    .output_tokens_per_s / 1e3] | @tsv' >"$data/predicted"
  sed 's/"id"/"mode":"bound","id"/' "$data/requests" | ask |
    jq -r '[(.id | tonumber), .itl_s * 1e3, .ttft_s * 1e3, .output_tokens_per_s / 1e3] | @tsv' >"$data/bound"
}

disaggregation() {
  for r in 0.5 1 1.5 2 2.5 3 3.5 4 4.5 5 5.5 6; do
    load=$llama',"engine":"vllm","input_tokens":4096,"output_tokens":512,"requests_per_s":'$r',"id":"'$r'"'
    echo '{"query":"serving",'"$load"',"tensor_parallel":4,"data_parallel":4}' >>"$data/both"
    echo '{"query":"serving",'"$load"',"prefill_tensor_parallel":4,"prefill_replicas":2,"decode_tensor_parallel":4,"decode_replicas":2}' >>"$data/apart"
  done
  for how in both apart; do
    ask <"$data/$how" | jq -r 'select(.feasible) | [(.id | tonumber), .ttft_s * 1e3, .itl_s * 1e3, .itl_p99_s * 1e3] | @tsv' >"$data/$how.tsv"
  done
}

sensitivity() {
  for m in $(powers 8 4096 1.15); do
    for set in "" ',"set":{"dram.bandwidth":"3.3835 TB/s"}'; do
      echo '{"query":"gemm","mode":"bound","accelerator":"h100_sxm","m":'"$(printf %.0f "$m")"',"n":8192,"k":8192,"id":"'"$(printf %.0f "$m")"'"'"$set"'}'
    done
  done | ask | jq -r '[(.id | tonumber), .time_s] | @tsv' |
    awk 'NR % 2 { t = $2; next } { print $1, log($2 / t) / log(1.01) }' >"$data/dram"
}

all=(roofline iron_law littles_law warp cost energy queueing moe kv_cache attention calibrated_attention
  calibrated_gemm collectives parallelism speculative speculation_in_a_service step serving disaggregation sensitivity)
for picture in "${@:-${all[@]}}"; do
  rm -rf "${data:?}"/*
  "$picture"
  gnuplot -e "data = '$data'; set output '$data/drawn.svg'" -c draw.gp "$picture"
  # Without the groups that gnuplot leaves empty, and without its own marks and filters
  sed -Ez 's|<filter.*</filter>||g; s|<desc>[^\n]*||; s|<title>gnuplot_plot[^\n]*\n||g; s|<tspan font-family="Helvetica" >([^<]*)</tspan></text>|\1</text>|g
    s|<g [^>]*>\s*</g>\n?||g; s|<g [^>]*>\s*</g>\n?||g; s|\n\s+|\n|g; s|\n+|\n|g; s|rgb\( *([0-9]+), *([0-9]+), *([0-9]+)\)|rgb(\1,\2,\3)|g
    s| font-family="Helvetica" font-size="13.00" ||g; s| stroke-linecap="butt" stroke-linejoin="miter"||g
    s|<svg|<svg font-family="Helvetica,Arial,sans-serif" font-size="13"|' "$data/drawn.svg" >"$picture.svg"
  echo "$picture.svg $(stat -c %s "$picture.svg")"
done
