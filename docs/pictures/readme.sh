#!/usr/bin/env bash
# readme.sh <napkin>: writes readme.dat, the operators of one layer of Llama 3.1 8B on an H100 as
# napkin predicts them, and draws readme.svg from it with gnuplot.
set -euo pipefail
napkin=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"

# number <key>: the value of a key in the JSON object on standard input
number() { grep -oE "\"$1\":[-+.0-9e]+" | head -n 1 | cut -d: -f2; }

# block <title> <tokens of the GEMMs> <query of attention>: one block of the data file
block() {
  local title=$1 m=$2 attention=$3
  printf '\n\n# %s\n' "$title"
  printf '{"query":"gemm","accelerator":"h100_sxm","m":%s,"n":%s,"k":%s}\n' \
    "$m" 6144 4096 "$m" 4096 4096 "$m" 28672 4096 "$m" 4096 14336 |
    cat - <(echo "{$attention,\"accelerator\":\"h100_sxm\",\"query_heads\":32,\"kv_heads\":8,\"head_dim\":128}") |
    "$napkin" batch | paste -d' ' <(printf '%s\n' qkv output gate_up down attention) - |
    awk '
      function number(key) { return match($0, "\"" key "\":[-+.0-9e]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "?" }
      {
        match($0, /"interval_80_s":\[[^]]*/)
        split(substr($0, RSTART + 17, RLENGTH - 17), interval, ",")
        flop = number("flop")
        printf "%-9s %8.4g %8.4g %8.4g %8.4g\n", $1, flop / number("bytes"), flop / number("time_s") / 1e12,
          flop / interval[2] / 1e12, flop / interval[1] / 1e12
      }'
}

{
  echo '# Made by readme.sh. Per operator: FLOP/B, TFLOP/s predicted, and its 80 % interval.'
  echo '# First block: peak in TFLOP/s, ridge point in FLOP/B.'
  echo "$("$napkin" peak --gpu h100_sxm --format bf16 --json | number flop_per_s | awk '{ print $1 / 1e12 }')" \
    "$("$napkin" ridge --gpu h100_sxm --json | number flop_per_byte)"
  block 'decode, 1 sequence' 1 '"query":"attention_decode","batch":1,"context":4096'
  block 'decode, 64 sequences' 64 '"query":"attention_decode","batch":64,"context":4096'
  block 'prefill, 2048 tokens' 2048 '"query":"attention_prefill","batch":1,"tokens":2048'
} >readme.dat
gnuplot readme.gp
