#!/usr/bin/env bash
# models --export and gpus --export lose nothing: each entry of the catalogue, there and back.
. "$(dirname "$0")/lib.bash"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
own=$scratch/own.json again=$scratch/again.json

models=$("$napkin" models --json | grep -oE '"name":"[a-z0-9_]+"' | cut -d'"' -f4)
gpus=$("$napkin" gpus --json | grep -oE '"name":"[a-z0-9_]+"' | cut -d'"' -f4)
[[ $(wc -w <<<"$models") -gt 50 && $(wc -w <<<"$gpus") -gt 50 ]] || fail "too few entries: $models $gpus"

# there_and_back <models|gpus> <name>: the export of the export has the same bytes.
there_and_back() {
  "$napkin" "$1" --export "$2" >"$own" || fail "$1 --export $2"
  "$napkin" "$1" --export "$own" >"$again" || fail "the file of $2 is not read"
  cmp -s "$own" "$again" || fail "the file of $2 is another one after reading: $(diff "$own" "$again" | head -n 3)"
}
# answers <name or file> <request with NAME in it>: without the name, which the answer may repeat.
batch() { sed "s|NAME|$1|" <<<"$2" | "$napkin" batch; }

questions='{"query":"model","model":"NAME"}
{"query":"kv_capacity","model":"NAME","accelerator":"mi355x","tensor_parallel":1,"context":4096}
{"query":"step","model":"NAME","accelerator":"mi355x","batch":8,"context":1000,"prefill_tokens":100}'
for m in $(some 10 <<<"$models"); do
  there_and_back models "$m"
  [[ $(batch "$m" "$questions") == "$(batch "$own" "$questions")" ]] || fail "the file of $m is another model"
done

questions='{"query":"gemm","accelerator":"NAME","m":64,"n":4096,"k":4096,"mode":"bound"}
{"query":"gemm","accelerator":"NAME","m":64,"n":4096,"k":4096}
{"query":"elementwise","accelerator":"NAME","elements":1e6,"mode":"bound"}
{"query":"step","accelerator":"NAME","model":"llama_3_8b","batch":8,"context":1000}'
for a in $(some 10 <<<"$gpus"); do
  there_and_back gpus "$a"
  [[ $(batch "$a" "$questions") == "$(batch "$own" "$questions")" ]] || fail "the file of $a is another accelerator"
done

# Feed-forwards of two matrices. Nemotron 3 Nano publishes 31.6e9 parameters (arXiv 2512.20848, table 1);
# a third matrix in each of its experts makes them 46.5e9.
"$napkin" models --export nemotron_3_nano_30b_a3b >"$own"
[[ $(grep -c '"gated": false' "$own") -ge 1 ]] || fail 'gated: false is left out'
ask model parameters 31.6e9 0.1e9 "$own"
finish
