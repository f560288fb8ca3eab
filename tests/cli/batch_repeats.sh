#!/usr/bin/env bash
# Lines of a batch that repeat an earlier line with other numbers have the result that they have by themselves.
. "$(dirname "$0")/lib.bash"

# Every template many times, in turn, with numbers of all kinds; @ is a number, % an id.
lines() {
  awk 'BEGIN { srand(7) }
    function number(i) {
      if (i % 11 == 0) return int(rand() * 1e9)
      if (i % 7 == 0) return sprintf("%.3f", rand() * 300)
      if (i % 5 == 0) return sprintf("%.2e", rand() * 3000)
      if (i % 13 == 0) return "-1"
      if (i % 17 == 0) return "0"
      return int(rand() * 4096) + 1
    }
    function degree() { return 2 ^ int(rand() * 4) }
    { template[NR] = $0 }
    END {
      for (i = 1; i <= 40; ++i) for (t = 1; t <= NR; ++t) {
        s = template[t]; n = 40 * t + i
        sub(/%/, i % 3 == 0 ? "\"line " n "\"" : i % 8 == 0 ? n ".5" : n, s)
        while (s ~ /@/) sub(/@/, number(++k), s)
        while (s ~ /\^/) sub(/\^/, degree(), s)
        print s
      }
    }' <<'TEMPLATES'
{"query":"gemm","id":%,"accelerator":"h100_sxm","m":@,"n":8192,"k":@,"format":"bf16"}
{"query":"gemm","accelerator":"a100_sxm_80gb","m":@,"n":@,"k":@,"format":"int4","measured_s":0.001}
{"query":"gemm","id":%,"accelerator":"b200","mode":"bound","m":@,"n":@,"k":@,"weight_copies":@}
{"query":"gemm","id":%,"gpu":"h100_sxm","set":{"dram.bandwidth":@},"m":@,"n":@,"k":64}
{"query":"step","id":%,"accelerator":"h100_sxm","model":"llama_3_70b","tp":^,"engine":"vllm","batch":@,"context":@}
{"query":"step","model":"gpt_oss_120b","accelerator":"b200","tensor_parallel":^,"expert_parallel":^,"batch":@,"context":@,"prefill_tokens":@}
{"query":"step","model":"llama_3_70b","accelerator":"h100_sxm","tensor_parallel":8,"pipeline_parallel":^,"network_bytes_per_s":@,"batch":@,"context":@}
{"query":"serving","id":%,"model":"llama_3_70b","accelerator":"h100_sxm","tp":8,"engine":"vllm","isl":@,"osl":@,"concurrency":@,"method":"closed_form"}
{"query":"serving","id":%,"model":"llama_3_70b","accelerator":"h100_sxm","tp":^,"engine":"sglang","isl":@,"osl":200,"concurrency":@,"method":"closed_form"}
{"query":"serving","model":"llama_3_8b","accelerator":"a100_sxm_80gb","tp":^,"dp":^,"engine":"vllm","isl":@,"osl":@,"qps":@,"method":"closed_form"}
{"query":"serving","id":%,"model":"llama_3_8b","accelerator":"h100_sxm","engine":"trtllm","isl":@,"osl":@,"concurrency":4,"ttft_limit_s":@,"method":"closed_form"}
{"query":"serving","model":"deepseek_v3","accelerator":"h200","tp":8,"mtp":1,"isl":@,"osl":@,"concurrency":@,"weight_format":"fp8","method":"closed_form"}
{"query":"serving","id":%,"model":"llama_3_70b","accelerator":"h100_sxm","tp":4,"mode":"bound","isl":@,"osl":@,"concurrency":@}
{"query":"serving","model":"llama_3_70b","accelerator":"h100_sxm","prefill_tensor_parallel":^,"decode_tensor_parallel":^,"engine":"vllm","isl":@,"osl":@,"concurrency":@,"method":"closed_form"}
{"query":"serving","id":%,"model":"llama_3_8b","accelerator":"h100_sxm","engine":"vllm","workload":"sharegpt","concurrency":@,"method":"closed_form"}
{"query":"ridge","accelerator":"h100_sxm","format":"fp8"}
{"query":"serving","id":%,"model":"llama_3_8b","accelerator":"h100_sxm","engine":"vllm","isl":512,"osl":64,"concurrency":4,"check":true}
{"query":"moe_ffn","id":%,"accelerator":"h100_sxm","tokens":@,"hidden":4096,"intermediate":1536,"experts":128,"top_k":8}
{"query":"kv_capacity","id":%,"model":"llama_3_70b","accelerator":"h100_sxm","tp":^,"context":@}
{"query":"collective","id":%,"accelerator":"h100_sxm","operation":"all_reduce","ranks":8,"bytes":@}
{"query":"sensitivity","of":{"query":"gemm","accelerator":"h100_sxm","m":@,"n":8192,"k":8192}}
{"query":"serving","id":%,"model":"qwen_3_5_27b","accelerator":"h200_sxm","engine":"vllm","input_tokens":4000,"output_tokens":200,"concurrency":400,"prefix_hit":0.^}
TEMPLATES
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
lines >"$folder/repeated"
# Blanks in front tell each line from all others, so that none repeats another.
awk '{ printf "%*s%s\n", NR, "", $0 }' "$folder/repeated" >"$folder/alone"
"$napkin" batch <"$folder/repeated" >"$folder/of_repeated"
"$napkin" batch <"$folder/alone" >"$folder/of_alone"
[[ $(wc -l <"$folder/of_alone") -eq $(wc -l <"$folder/repeated") ]] || fail 'lines without a result'
cmp -s "$folder/of_repeated" "$folder/of_alone" ||
  fail "line by itself and repeated: $(diff "$folder/of_alone" "$folder/of_repeated" | head -4)"
grep -q '"error"' "$folder/of_repeated" || fail 'no line with an error'
[[ $(grep -vc '"error"' "$folder/of_repeated") -gt 300 ]] || fail 'few lines without an error'
finish
