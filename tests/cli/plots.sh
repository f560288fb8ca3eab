#!/usr/bin/env bash
# --plot: well-formed SVG whose points are the numbers of the answer, PNG, text; the rooflines; what cannot be drawn.
. "$(dirname "$0")/lib.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
needs_python

# reads <python>: SVG and answer as `root`, `a`; marks() are the (x, y) of all points, rows() of all bars.
cat >"$work/read.py" <<'END'
import json, sys, xml.etree.ElementTree as E
root = E.parse(sys.argv[1]).getroot()
a = json.load(open(sys.argv[2]))
def tag(e): return e.tag.rsplit('}')[-1]
def marks(): return [(float(e.get('data-x')), float(e.get('data-y'))) for e in root.iter() if tag(e) == 'circle']
def rows(): return [(float(e.get('data-from')), float(e.get('data-to'))) for e in root.iter() if e.get('data-from')]
def words(): return [e.text for e in root.iter() if tag(e) == 'text']
def near(x, y): return abs(x - y) <= 1e-8 * abs(y)
def has(x, y): return any(near(p, x) and near(q, y) for p, q in marks())
assert root.get('viewBox') and root.find('{http://www.w3.org/2000/svg}title') is not None
exec(sys.argv[3])
END
# drawn <what> <python> <arguments...>
drawn() {
  local what=$1 check=$2
  shift 2
  "$napkin" "$@" --json --plot "$work/f.svg" >"$work/a.json" || fail "$what: rc $?"
  python3 "$work/read.py" "$work/f.svg" "$work/a.json" "$check" || fail "$what: $check"
}
llama=(--model llama_3_1_70b --gpu h100_sxm --tp 4)

drawn "gemm: bound, prediction, measurement at their FLOP/s" '
x, f = a["flop_per_byte"], a["flop"]
assert has(x, f / a["time_s"]) and has(x, f / a["bound_time_s"]) and has(x, f / 310e-6) and len(marks()) == 3
assert any("295 FLOP/B" in w for w in words())' \
  gemm --gpu h100_sxm --m 4096 --n 4096 --k 4096 --measured 310us
drawn "step: rows add up to the time" '
r = rows(); i = next(k for k, (f, t) in enumerate(r) if k and f == 0)
assert all(near(r[k][0], r[k-1][1]) for k in range(1, i)) and near(r[i-1][1], a["time_s"]) and near(r[i][1], a["time_s"])
assert near(r[-1][1], a["bound_time_s"])' step "${llama[@]}" --batch 32 --context 4096
drawn "serving over concurrency" 'assert has(64, a["ttft_s"]) and has(64, a["itl_s"]) and has(64, a["output_tokens_per_s"])' \
  serving "${llama[@]}" --engine vllm --isl 2000 --osl 500 --users 64 --method closed_form
drawn "serving over the rate" 'assert has(2, a["ttft_s"]) and has(2, a["itl_s"]) and max(x for x, y in marks()) > 2.5' \
  serving "${llama[@]}" --engine vllm --isl 2000 --osl 500 --qps 2 --method closed_form
drawn "overload draws what is sustainable" '
assert any("Infeasible" in w for w in words()) and max(x for x, y in marks()) < a["sustainable_requests_per_s"]' \
  serving "${llama[@]}" --engine vllm --isl 2000 --osl 500 --qps 50
drawn "model" 'assert all(has(r["context"], r["kv_bytes"] + r["state_bytes"]) for r in a["over_context"])' model gemma_3_27b
drawn "roofline" '
for o in a["operators"]:
    if "flop_per_s" in o: assert has(o["flop_per_byte"], o["flop_per_s"]) and has(o["flop_per_byte"], o["bound_flop_per_s"])
assert len(a["operators"]) > 5' roofline "${llama[@]}" --batch 32 --context 4096
drawn "roofline: shares add up to the step" '
assert abs(sum(o["share"] for o in a["operators"]) + a["share_outside"] - 1) < 1e-9
assert near(sum(o["time_s"] for o in a["operators"]), (1 - a["share_outside"]) * a["time_s"])' \
  roofline "${llama[@]}" --engine vllm --batch 32 --context 4096
drawn "infeasible" 'assert not marks() and any("usable" in w for w in words())' \
  step --model llama_3_1_405b --gpu h100_sxm --batch 1 --context 1024
drawn "one point" 'assert len(marks()) == 1' gemm --gpu h100_sxm --m 1 --n 1 --k 1 --mode bound
plan=(plan --model llama_3_1_70b --gpu "h100_sxm,h200_sxm" --isl 2048 --osl 512 --users 64 --ttft 2s --itl 50ms)
drawn "plan: rows as in the table" '
import re
labels = {w.strip("*") for w in words() if re.fullmatch(r"\d+\*?", w or "")}
for k, r in enumerate(a["frontier"]):
    if has(r["itl_s"], r["usd_per_million_tokens"]): assert str(k + 1) in labels
assert "1*" in words() and has(a["frontier"][0]["itl_s"], a["frontier"][0]["usd_per_million_tokens"])' "${plan[@]}"
table=$("$napkin" "${plan[@]}" | sed -nE 's/^  ([0-9]+)\*? +[0-9]+ x h.*/\1/p' | xargs)
picture=$(python3 -c "
import sys, xml.etree.ElementTree as E
print(*sorted(int(t.text.split(':')[0]) for t in E.parse('$work/f.svg').getroot().iter('{http://www.w3.org/2000/svg}title') if t.text[0].isdigit()))")
json=$("$napkin" "${plan[@]}" --json | sed -nE 's/.*"rows_shown":\[([0-9,]*)\].*/\1/p' | tr , ' ')
[[ $table == "$json" ]] || fail "rows_shown is '$json', the table's rows are '$table'"
[[ -n $table && $table == "$picture" ]] || fail "the picture's rows are '$picture', the table's '$table'"

# By hand: the H100's ridge in bf16 is 989.4 / 3.35 = 295.34 FLOP/B; at 100 FLOP/B the roof is 335 TFLOP/s.
ask roofline flop_per_byte 295.343 0.001 --gpu h100_sxm
ask roofline attainable_flop_per_s 335e12 1e6 --gpu h100_sxm --flop_per_byte 100 --measured_flop_per_s 67TFLOP/s
ask roofline share_of_roof 0.2 1e-9 --gpu h100_sxm --flop_per_byte 100 --measured_flop_per_s 67TFLOP/s
"$napkin" roofline "${llama[@]}" --batch 32 --context 4096 >"$work/text"
[[ $(head -n 1 "$work/text") == 'Predicted engine step: '* ]] || fail "the conclusion is not first: $(head -n 1 "$work/text")"
[[ -z $(awk 'length > 100' "$work/text") ]] || fail "a roofline has more than 100 columns"
[[ $(echo '{"query":"roofline","id":7,"accelerator":"h100","model":"qwen_3_32b","batch":8,"context":999}' | "$napkin" batch) == \
  '{"id":7,'*'"operators":[{'* ]] || fail "roofline in a batch"

# Text plots: at most 100 columns; -- and PNG, with rsvg-convert and without.
"$napkin" "${plan[@]}" --plot text >"$work/text" || fail "plan --plot text"
grep -q '1\*$' "$work/text" || fail "the text plot has no star"
[[ -z $(awk 'length > 100' "$work/text") ]] || fail "a text plot has more than 100 columns"
one=(gemm --gpu h100_sxm --m 64 --n 64 --k 64)
if command -v rsvg-convert >/dev/null; then
  "$napkin" "${one[@]}" --plot "$work/f.png" >/dev/null || fail "png"
  [[ $(head -c 4 "$work/f.png" | tail -c 3) == PNG ]] || fail "no PNG"
fi
refused() { # <words> <arguments...>
  local expected=$1 said status
  shift
  said=$(PATH=${without_path-$PATH} "$napkin" "$@" 2>&1 >/dev/null)
  status=$?
  [[ $status == 2 && $(wc -l <<<"$said") == 1 && $said == *"$expected"* ]] || fail "rc $status: $said, not $expected"
}
without_path=/nowhere refused 'install librsvg2-bin' "${one[@]}" --plot "$work/g.png"
refused 'cannot be written' "${one[@]}" --plot "$work/no/such/f.svg"
refused 'allowed: a file that ends in .svg or .png' "${one[@]}" --plot "$work/f.pdf"
refused 'plot is text with --json' "${one[@]}" --plot text --json
refused 'model is missing' roofline --gpu h100_sxm --batch 4
refused 'n is missing' roofline --gpu h100_sxm --m 4
refused 'm is missing' roofline --gpu h100_sxm --measured_s 4ms
refused 'format has "fp7"' roofline --gpu h100_sxm --format bf16,fp7

# A name with markup in it is text.
mkdir "$work/a<b>&c"
"$napkin" gpus --export h100_sxm >"$work/a<b>&c/chip.json"
drawn "markup in a name" 'assert any("a<b>&c" in w for w in words())' \
  gemm --gpu "$work/a<b>&c/chip.json" --m 64 --n 64 --k 64

# The figures of the documentation are what the program draws, but for rounding.
bash "$source_dir/docs/figures/draw.sh" "$napkin" "$work" || fail "draw.sh"
for f in "$source_dir"/docs/figures/*.svg; do
  python3 - "$f" "$work/$(basename "$f")" <<'END' || fail "$(basename "$f") is not what the program draws: docs/figures/draw.sh <napkin>"
import re, sys
number = re.compile(r'(?<![#\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?')
old, new = (open(f).read() for f in sys.argv[1:])
assert number.sub('0', old) == number.sub('0', new)
for a, b in zip(number.findall(old), number.findall(new)):
    assert abs(float(a) - float(b)) <= 0.06 + 2e-3 * abs(float(b)), (a, b)
END
done
finish
