#!/usr/bin/env bash
# The lists name everything that the interface promises, each value with its basis and source.
. "$(dirname "$0")/lib.bash"

accelerators='v100_sxm_32gb a100_sxm_40gb a100_sxm_80gb h100_sxm h100_pcie h200_sxm h20 b200_sxm b300_sxm gb200 gb300 l4 l40s
rtx_4090 rtx_5080 rtx_5090 rtx_pro_6000 mi210 mi300x tpu_v5e tpu_v5p m2_ultra m3_ultra jetson_orin_nano_8gb
jetson_orin_nx_16gb jetson_agx_orin_64gb jetson_thor groq_lpu cerebras_wse3 vera_rubin_nvl72 rubin_ultra_nvl576
t4 a100_pcie_40gb a100_pcie_80gb a10 a40 rtx_a6000 rtx_3090 h100_nvl h20_141gb h800_sxm gh200_144gb rtx_pro_6000_workstation rtx_pro_6000_max_q gb10 mi325x mi350x mi355x tpu_v6e tpu7x trainium2 trainium3 gaudi_3 m4_pro m4_max_32core m4_max
h200_nvl a800_sxm_80gb rtx_3080 rtx_4070 rtx_4080 rtx_5070 rtx_5070_ti rtx_6000_ada l20 rtx_pro_4500 rtx_pro_5000 rtx_pro_5000_72gb
mi250x mi308x mi455x rx_7900_xtx rx_9070_xt radeon_ai_pro_r9700 ryzen_ai_max_395 arc_pro_b60 arc_pro_b70 ascend_910b ascend_910c
ascend_950dt cloud_ai_100_ultra maia_200 rubin_cpx'
models='llama_2_7b llama_2_70b llama_3_8b llama_3_70b llama_3_1_405b qwen_2_5_3b qwen_3_32b qwen_3_235b_a22b
mistral_7b mixtral_8x7b gemma_3_27b gpt_oss_20b gpt_oss_120b deepseek_v3'

list=$("$napkin" gpus) json=$("$napkin" gpus --json)
[[ $(wc -l <<<"$json") -eq 1 && $json == '{"accelerators":[{"name":'*']}' ]] || fail 'gpus --json is no object in one line'
for a in $accelerators; do
  grep -qE "^  $a  " <<<"$list" || fail "gpus does not list $a"
  [[ $json == *"{\"name\":\"$a\","* ]] || fail "gpus --json does not list $a"
  one=$("$napkin" gpus "$a" --json) || fail "gpus $a"
  values=$(grep -o '"value":' <<<"$one" | wc -l)
  [[ $values -ge 3 && $values -eq $(grep -o '"source":"[^"]' <<<"$one" | wc -l) &&
    $values -eq $(grep -oE '"basis":"(vendor|vendor \(secondary source\)|derived|measured|announced|assumed)"' <<<"$one" | wc -l) ]] ||
    fail "gpus $a: not every value has its basis and its source"
done
# Names as people and drivers write them.
for name in 'H100' 'h100-sxm5-80gb' 'NVIDIA H100 80GB HBM3' 'H100 SXM'; do
  near "ridge of $name" "$(number "$("$napkin" ridge --accelerator "$name" --json)" flop_per_byte)" 295.34 0.01
done
"$napkin" gpus 'RTX 4060' 2>&1 | grep -q rtx_4070 || fail 'RTX 4060 has no relative'
"$napkin" gpus mi300x | grep -q 'Infinity Fabric joins 8 in a mesh' || fail 'gpus mi300x does not say that it is a mesh'
list=$("$napkin" models) json=$("$napkin" models --json)
[[ $json == '{"models":[{"name":'*']}' ]] || fail 'models --json is no object'
for m in $models; do
  grep -qE "^  $m  " <<<"$list" || fail "models does not list $m"
  [[ $json == *"{\"name\":\"$m\","* ]] || fail "models --json does not list $m"
done
one=$("$napkin" models llama_3_70b --json)
near 'parameters of llama_3_70b' "$(number "$one" parameters)" 70553706496 0
# A window's cache counts once: beyond it 18 of 36 layers of gpt-oss-120b and 5 of 30 of Gemma 4 grow.
for row in gpt_oss_120b:36864:73728 gemma_4_26b_a4b:20480:225280 gemma_3_27b:81920:507904 llama_4_scout:49152:196608; do
  IFS=: read -r m long short <<<"$row"
  one=$("$napkin" models "$m" --json)
  near "KV beyond the window of $m" "$(number "$one" kv_bytes_per_token)" "$long" 0
  near "KV within the window of $m" "$(number "$one" kv_bytes_per_short_token)" "$short" 0
done
one=$("$napkin" models llama_3_70b --json)
grep -q kv_bytes_per_short_token <<<"$one" && fail 'llama_3_70b has a window'
near 'layers of llama_3_70b' "$(number "$one" layers)" 80 0

for command in '' gemm plan batch gpus models explain 'explain gemm'; do
  # shellcheck disable=SC2086
  "$napkin" $command --help >/dev/null || fail "$command --help"
done
for key in accelerator m n k format engine; do
  "$napkin" gemm --help | grep -qE "^ +--$key[ ,]" || fail "gemm --help does not name $key"
done
[[ $("$napkin" --version) =~ ^napkin\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail '--version'
finish
