#!/usr/bin/env python3
"""scoreboard.py NAPKIN DIR SOURCE: published runs of services, predicted by napkin as each was run.

DIR holds the tables that the project may not carry. Written under SOURCE: validation/reports/scoreboard.md, errors by
model, chip, engine and protocol; and tools/napkin/published_scores.inc, the same rows for `napkin trust`."""
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict

SHORT = {'trt': 'trtllm', 'dynamo-trt': 'trtllm', 'dynamo-sglang': 'sglang'}
ACCELERATORS = [('NVIDIA RTX PRO 6000', 'rtx_pro_6000'), ('AMD Instinct MI300X', 'mi300x'),
                ('AMD Instinct MI325X', 'mi325x')]
CHIPS = {'h200': 'h200_sxm', 'b200': 'b200_sxm', 'b200-trt': 'b200_sxm', 'gb200': 'gb200', 'mi325x': 'mi325x',
         'mi355x': 'mi355x', 'mi355x-amd_0': 'mi355x'}
# Beginning of a model's name in a table, without the organisation; napkin's name; the file, where it has none.
MODELS = [('gpt-oss-120b', 'gpt_oss_120b'), ('gpt-oss-20b', 'gpt_oss_20b'), ('deepseek-r1', 'deepseek_r1'),
          ('deepseek-v3', 'deepseek_v3'), ('meta-llama-3.1-70b', 'llama_3_1_70b'), ('llama-3.1-70b', 'llama_3_1_70b'),
          ('llama-3.3-70b', 'llama_3_1_70b'), ('llama_3_1_70b', 'llama_3_1_70b'), ('qwen3-235b', 'qwen_3_235b_a22b'),
          ('qwen3.5-397b', 'qwen_3_5_397b_a17b'), ('qwen3-32b', 'qwen_3_32b'), ('qwen3-8b', 'qwen_3_8b'),
          ('llama-3.1-8b', 'llama_3_1_8b'), ('qwen3-14b', 'qwen_3_14b'), ('qwen3-30b-a3b', 'qwen_3_30b_a3b')]
# Checkpoints of Qwen in fp8, with a scale per 128 x 128 weights.
BLOCKS = {'qwen_3_235b_a22b': 'configs/Qwen--Qwen3-235B-A22B-FP8_config.json',
          'qwen_3_32b': 'configs/Qwen--Qwen3-32B-FP8_config.json'}
FILES = {'qwen_3_8b': 'configs/Qwen--Qwen3-8B_config.json', 'qwen_3_30b_a3b': 'configs/Qwen--Qwen3-30B-A3B_config.json',
         'qwen_3_14b': 'traces/models/Qwen--Qwen3-14B_config.json'}


def table(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        print(f'scoreboard: skipped {name}: not in {folder}', file=sys.stderr)
        return []
    with open(path, newline='') as f:
        return list(csv.DictReader(f))


class board:
    def __init__(self, napkin, folder):
        self.napkin, self.folder, self.asked = napkin, folder, []
        self.releases, self.months = defaultdict(set), defaultdict(set)
        listed = json.loads(subprocess.run([napkin, 'models', '--json'], capture_output=True, text=True).stdout)
        self.sizes = {}
        self.known = {m['name'] for m in (listed['models'] if isinstance(listed, dict) else listed)}

    def model(self, name):
        name = name.rstrip('/').split('/')[-1].lower()
        for begins, key in MODELS:
            if name.startswith(begins):
                if key in self.known:
                    return key, key
                path = os.path.join(self.folder, '..', FILES.get(key, 'none'))
                return (key, os.path.abspath(path)) if os.path.exists(path) else None
        return None

    def formats(self, m, precision):
        """What a request says of a checkpoint in this precision: nothing where the model is stored so."""
        if m[0].startswith('gpt') or precision not in ('fp8', 'fp4', 'int4') or precision == 'fp8' and 'deepseek' in m[0]:
            return {}
        path = os.path.abspath(os.path.join(self.folder, '..', BLOCKS.get(m[0], 'none')))
        if precision == 'fp8' and os.path.exists(path):
            return {'model': path}
        return {'weight_format': precision}

    def size(self, name, spelled):
        """Parameters in billions: all, and active for a token."""
        if name not in self.sizes:
            said = json.loads(subprocess.run([self.napkin, 'model', spelled, '--json'], capture_output=True,
                                             text=True).stdout)
            self.sizes[name] = '%.6g, %.6g' % (said['parameters'] / 1e9, said['active_parameters'] / 1e9)
        return self.sizes[name]

    def add(self, group, request, version='', month='', **measured):
        """group: source, protocol, model, chip, engine, fitted. measured: seconds, tokens per second. version: the engine's
        release, and month: of the run or of the dump that has it, where the table states them."""
        numbers = re.match(r'(\d+(\.\d+)+)', version)
        if numbers:
            self.releases[group].add(tuple(int(x) for x in numbers[1].split('.')))
        if month:
            self.months[group].add(month)
        values = {k: float(v) for k, v in measured.items() if v not in ('', None) and float(v) > 0}
        if values:
            self.size(group[2], request['model'])
            self.asked.append((group, dict(query='serving', mode='calibrated', **request), values))

    def measured_with(self, group):
        """Releases and the latest month of a group's runs: "0.11.2 to 0.13.0, until 2026-01"; "" where none is stated."""
        known = sorted(self.releases[group])
        ends = ['.'.join(str(n) for n in x) for x in sorted({known[0], known[-1]})] if known else []
        month = max(self.months[group], default='')
        return ', '.join(x for x in (' to '.join(ends), 'until ' + month if month else '') if x)

    def answers(self):
        lines = ''.join(json.dumps(q) + '\n' for _, q, _ in self.asked)
        out = subprocess.run([self.napkin, 'batch'], input=lines, capture_output=True, text=True).stdout.splitlines()
        if len(out) != len(self.asked):
            sys.exit(f'scoreboard: napkin answered {len(out)} of {len(self.asked)} lines')
        return [json.loads(x) for x in out]


def milliseconds(x):
    return float(x) * 1e-3 if x else None


def whole(x):
    return int(float(x or 1))


# How AIConfigurator's dump of InferenceX was run, with sources: tools/fit/published_services.hpp.
def may_speculate(x):
    if (x['model'].startswith('Qwen3.5') and x['gpu'] == 'b200_sxm' and x['version'] == '0.5.9' and x['tp'] == '4'
            and x['moe_ep'] == '1'):
        return True
    return (x['model'].startswith('DeepSeek-') and x['backend'] == 'trtllm'
            and x['version'] in ('1.2.0rc6.post3', '1.1.0rc2.post2'))


def started_cold(x):
    return x['model'] == 'DeepSeek-R1' and not x['version']


def month_of_dump(x):
    return (re.search(r'dump-(\d+-\d+)', x['src']) or ['', ''])[1]


def joins_singly(x):
    """Runs of equal lengths whose requests were not in step: 20 prompts of 1,000 tokens by vLLM have a TTFT of 228 ms
    at 100, 500 and 1,000 output tokens, and one step of 8,192 prompt tokens takes 400 ms. SGLang's rise with the number
    of requests (641 ms of 2, 2,066 of 8): those are in step."""
    return x['src'] == 'aic-gap-analysis' and x['backend'] == 'vllm'


def layout(x):
    """Tensor and data parallelism of a row; one dump multiplies them by the experts' once too often."""
    experts, width = whole(x['moe_ep']), whole(x['tp'])
    if x['attention_dp']:
        groups = whole(x['attention_dp'])
        if x['src'] == 'dump-2026-04-06' and whole(x['moe_tp']) > 1:
            return (width, groups // experts) if groups > 1 else (width // experts, groups)
        return width, groups
    return (width, experts * whole(x['moe_tp']) // width) if x['concurrency'] == x['batch_per_replica'] else None


def waiting_iterations(x, q):
    """Engine iterations that a prefill waits for others, by InferenceX's launch scripts."""
    c, b200, short = q['concurrency'], x['gpu'].startswith('b200'), max(q['input_tokens'], q['output_tokens']) < 1000
    deepseek = x['model'].startswith('DeepSeek-R1')
    if x['backend'] == 'sglang':
        return (5 if c < 16 else 15) if b200 and (deepseek or x['model'].startswith('Qwen3.5')) else 0
    if x['backend'] != 'trtllm':
        return 0
    if x['model'].startswith('Llama'):
        return 20 if short and q['tensor_parallel'] * q['data_parallel'] < 8 else 0
    if b200 and q['data_parallel'] > 1:
        return 30 if deepseek else 25
    return 20 if b200 and deepseek and x['precision'] == 'fp8' and short and 64 <= c < 256 else 0


def closed(b):
    for x in table(b.folder, 'inferencex_serving_public.csv'):
        m, chip = b.model(x['model']), CHIPS.get(x['gpu'])
        if x['spec_decoding'] != 'none' or x['disagg'] == 'true' or not m or not chip:
            continue
        tp, groups = whole(x['tp']), whole(x['tp']) if x['dp_attention'] == 'true' else 1
        engine = SHORT.get(x['framework'], x['framework'])
        c = float(x['concurrency'])
        q = dict(model=m[1], accelerator=chip, engine=engine if engine in ('vllm', 'sglang', 'trtllm') else 'none',
                 input_tokens=0.9 * int(x['isl']), output_tokens=0.9 * int(x['osl']), input_cv=.0642, output_cv=.0642,
                 concurrency=c, requests=10 * c, tensor_parallel=1 if groups > 1 else tp, data_parallel=groups)
        if whole(x['ep']) > 1 or groups > 1:
            q['expert_parallel'] = max(groups, whole(x['ep']))
        q.update(b.formats(m, x['precision']))
        if not m[0].startswith('gpt'):
            q['kv_format'] = 'fp8'
        # On AMD, SGLang's time per layer is fitted to these runs, one number a chip.
        b.add(('InferenceX', 'closed loop', m[0], chip, engine, not chip.startswith('mi') or engine == 'sglang'), q,
              version=(re.search(r'(?:v|:|atom)(\d+\.\d+[.\d]*)', x['image']) or ['', ''])[1], month='2026-01',
              itl=milliseconds(x['tpot_mean_ms']), ttft=milliseconds(x['ttft_mean_ms']))
    for x in table(b.folder, 'aic_e2e_serving_public.csv'):
        m = b.model(x['model'])
        if not m or not x['concurrency'] or not x['ttft_ms'] or may_speculate(x) or started_cold(x):
            continue
        shape, dump, c = layout(x), 'dump' in x['src'] or x['model'].startswith('Qwen3.5'), float(x['concurrency'])
        if not shape or shape[0] * shape[1] > 8:
            continue
        share = .9 if dump else 1.
        q = dict(model=m[1], accelerator=x['gpu'], engine=x['backend'], input_tokens=share * int(x['isl']),
                 output_tokens=share * int(x['osl']), concurrency=c, requests=10 * c, tensor_parallel=shape[0],
                 data_parallel=shape[1])
        if dump or not joins_singly(x):
            q.update(input_cv=.0642 if dump else 0, output_cv=.0642 if dump else 0)
        if dump:
            if waiting_iterations(x, q):
                q['held_iterations'] = waiting_iterations(x, q)
        if whole(x['moe_ep']) > 1:
            q['expert_parallel'] = whole(x['moe_ep'])
        q.update(b.formats(m, x['precision']))
        if dump and x['backend'] == 'sglang' and (x['precision'] == 'fp8' or 'DeepSeek' in x['model']):
            q['kv_format'] = 'fp8'
        b.add(('aiconfigurator', 'closed loop', m[0], x['gpu'], x['backend'], True), q, version=x['version'],
              month=month_of_dump(x),
              itl=milliseconds(x['tpot_ms']), ttft=milliseconds(x['ttft_ms']))


def engine_runs(b):
    for x in table(b.folder, 'engine_benchmarks_public.csv'):
        m = b.model(x['model'])
        if not m or x['spec'] or x['accept_length'] or 'do not add up' in x['note']:
            continue
        tp, dp, pp, ep = (whole(x[k]) for k in ('tp', 'dp', 'pp', 'ep'))
        q = dict(model=m[1], accelerator=x['gpu'], engine=x['engine'], tensor_parallel=tp,
                 input_tokens=max(1, float(x['input_tokens_mean'])), output_tokens=max(1, float(x['output_tokens_mean'])),
                 concurrency=float(x['concurrency']), requests=whole(x['num_requests']))
        if x['dp_attention'] == 'True' and dp > 1:
            q.update(tensor_parallel=max(1, tp // dp), data_parallel=dp, expert_parallel=tp)
        elif dp > 1:
            q['data_parallel'] = dp
        if ep != 1 and 'expert_parallel' not in q:
            q['expert_parallel'] = tp * dp if ep < 0 else ep
        if pp > 1:
            q['pipeline_parallel'] = pp
        q.update(b.formats(m, x['precision']))
        for key in ('input_cv', 'output_cv'):
            if x[key]:
                q[key] = float(x[key])
        if x['chunk_tokens'] and float(x['chunk_tokens']) > 0:
            q['chunk_tokens'] = whole(x['chunk_tokens'])
        if x['max_num_seqs']:
            q['max_sequences'] = whole(x['max_num_seqs'])
        if x['kv_cache']:
            q['kv_format'] = x['kv_cache']
        burst = float(x['concurrency']) >= float(x['num_requests'])
        if burst and float(x['output_tokens_mean']) <= 8:
            continue
        b.add(('gpustack, SGLang cookbook', 'all at once' if burst else 'closed loop', m[0], x['gpu'], x['engine'], False),
              q, version=x['version'], itl=None if burst else milliseconds(x['tpot_mean_ms'] or x['itl_mean_ms']),
              ttft=milliseconds(x['ttft_mean_ms']), rate=x['output_tokens_per_s'])


def run_lengths(b):
    for x in table(b.folder, 'gptoss_h200_run_lengths_public.csv'):
        if x['spec']:
            continue
        b.add(('inferencex-profiling', 'runs with an end', 'gpt_oss_120b', 'h200_sxm', 'vllm', False),
              dict(model='gpt_oss_120b', accelerator='h200_sxm', engine='vllm', input_tokens=float(x['input_tokens_mean']),
                   output_tokens=float(x['output_tokens_mean']), input_cv=.0642, output_cv=.0642, max_sequences=256,
                   concurrency=float(x['concurrency']), requests=whole(x['num_requests'])), version=x['version'],
              itl=milliseconds(x['tpot_mean_ms']), ttft=milliseconds(x['ttft_mean_ms']), rate=x['output_tokens_per_s'])


def pools(b):
    for x in table(b.folder, 'aic_disaggregated_public.csv'):
        m = b.model(x['model'])
        if not m or not x['prefill_workers'] or not x['decode_workers']:
            continue
        share = 1. if x['src'] == 'aic-gap-analysis' else .9
        c = whole(x['concurrency'])
        q = dict(model=m[1], accelerator=x['gpu'], engine=x['backend'],
                 input_tokens=share * int(x['isl']), output_tokens=share * int(x['osl']), concurrency=c, requests=10 * c,
                 kv_link_bytes_per_s=5e10, **{k: v for k, v in b.formats(m, x['precision']).items() if k != 'model'})
        for pool in ('prefill', 'decode'):
            dp, tp, ep = (whole(x[f'{pool}_{k}']) for k in ('attention_dp', 'tp', 'moe_ep'))
            q[f'{pool}_tensor_parallel'], q[f'{pool}_replicas'] = tp, whole(x[f'{pool}_workers'])
            if dp > 1:
                q.update({f'{pool}_data_parallel': dp, f'{pool}_expert_parallel': tp * dp})
            elif ep > 1:
                q[f'{pool}_expert_parallel'] = ep
        b.add(('aiconfigurator', 'pools', m[0], x['gpu'], x['backend'], False), q, month=month_of_dump(x),
              itl=milliseconds(x['tpot_ms']),
              ttft=milliseconds(x['ttft_ms']))


# Of each model: layers with a cache, KV heads, size of a head, bytes per weight that trtllm-bench assumes of its checkpoint
# (gpt-oss: packed 4-bit weights count as 2 bytes each).
BENCH_MODELS = {'qwen_3_30b_a3b': (48, 4, 128, 1.), 'llama_3_1_70b': (80, 8, 128, 1.), 'gpt_oss_20b': (24, 8, 64, 2.)}
MEMORY_GIB = {'b200_sxm': 179, 'gb200': 185, 'h200_sxm': 140, 'h100_sxm': 80, 'rtx_pro_6000': 95}


def bench_tokens(parameters, model, chip, precision, isl, osl, ranks, stages):
    """max_num_tokens as trtllm-bench sets it where none is given: TensorRT-LLM, tensorrt_llm/bench/build/tuning.py, and
    get_settings in bench/benchmark/utils/general.py (without chunked prefill at least a prompt and the batch)."""
    layers, heads, size, per_weight = BENCH_MODELS[model]
    bytes_of_kv = 2. if model.startswith('gpt') and chip.startswith('h') else 1.
    weights = parameters * 1e9 * per_weight * {'fp4': .5, 'fp8': 1.}[precision] / 2**30
    per_token = 2. * layers * max(heads, ranks) * size * bytes_of_kv / 2**30
    requests = .9 * (MEMORY_GIB[chip] * ranks * stages - weights) / (per_token * (isl + osl))
    batch = min(requests, 4096) / stages
    tokens = min(batch * (1 + isl / osl), 32768)
    batch = max(64, 32 * math.ceil(batch / 32)) if batch < 256 else (128 if batch < 1024 else 256) * math.ceil(
        batch / (128 if batch < 1024 else 256))
    step = 256 if tokens < 4096 else 512 if tokens < 8192 else 1024
    return max(2048, step * math.ceil(tokens / step), isl + batch)


def throughput_tables(b):
    for x in table(b.folder, 'trtllm_perf_overview_new_public.csv'):
        m, name = b.model(x['model']), x['layout']
        if not m:
            continue
        pp = re.search(r'PP(\d)', name)
        groups = re.search(r'DEP(\d)', name)
        width = int((groups or re.search(r'TP(\d)', name))[1])
        stages, n = int(pp[1]) if pp else 1, whole(x['num_requests'])
        q = dict(model=m[1], accelerator=x['gpu'], engine='trtllm', input_tokens=int(x['isl']), output_tokens=int(x['osl']),
                 concurrency=n, requests=n, tensor_parallel=1 if groups else width)
        if groups:
            q.update(data_parallel=width, expert_parallel=width)
        if stages > 1:
            q['pipeline_parallel'] = stages
        q.update(b.formats(m, x['precision']))
        q['chunk_tokens'] = bench_tokens(float(b.size(*m).split(',')[0]), m[0], x['gpu'], x['precision'], q['input_tokens'],
                                         q['output_tokens'], width, stages)
        b.add(('TensorRT-LLM', 'all at once', m[0], x['gpu'], 'trtllm', False), q,
              rate=float(x['output_tokens_per_s_per_gpu']) * width * stages)
    for x in table(b.folder, 'rocm_vllm_mi300x_public.csv'):
        m = b.model(x['model'])
        if m and x['latency_s']:
            b.add(('ROCm/vllm', 'one batch', m[0], 'mi300x', 'vllm', False),
                  dict(model=m[1], accelerator='mi300x', engine='vllm', weight_format='fp8', kv_format='fp16',
                       tensor_parallel=whole(x['tp']), input_tokens=whole(x['input_tokens']),
                       output_tokens=whole(x['output_tokens']), concurrency=whole(x['batch']), requests=whole(x['batch'])),
                  version=x['version'], e2e=x['latency_s'])


def arrivals(b):
    for x in table(os.path.join(b.folder, '..', 'traces'), 'qwen3_14b_h100_runs.csv'):
        m = b.model('Qwen3-14B')
        if m and x['arrivals'] == 'poisson' and float(x['in_flight_mean']) < 180:
            b.add(('residency-vllm', 'Poisson arrivals', m[0], 'h100_sxm', 'vllm', False),
                  dict(model=m[1], accelerator='h100_sxm', engine='vllm', tensor_parallel=1, input_cv=.02, max_sequences=256,
                       input_tokens=float(x['input_tokens_mean']), output_tokens=float(x['output_tokens_mean']),
                       requests_per_s=float(x['requests_per_s_sent'])), version='0.23.0',
                  itl=milliseconds(x['tpot_mean_ms']), ttft=milliseconds(x['ttft_mean_ms']),
                  e2e=milliseconds(x['e2e_mean_ms']))


def mlperf(b):
    """Lengths of prompts are not in a result. OpenOrca's and CNN/DailyMail's are means of samples of their token counts in
    openshift-psap/performance-dashboard, mlperf-data/summaries. Server and Interactive are asked at the number of requests
    that were in service, by Little's law."""
    seen = set()
    for x in table(b.folder, 'mlperf_v6_0_llm_public.csv'):
        chip = next((c for name, c in ACCELERATORS if x['accelerator'].startswith(name)), None)
        big, n = x['model'].startswith('llama2-70b'), whole(x['nodes']) * whole(x['accelerators_per_node'])
        rate, key = float(x['samples_per_s']) / n, (x['platform'], big, x['scenario'], x['samples_per_s'])
        if not chip or key in seen:  # one run is submitted for both accuracies
            continue
        seen.add(key)
        m = b.model('llama_3_1_70b' if big else 'llama-3.1-8b')
        q = dict(model=m[1], accelerator=chip, engine='trtllm' if 'TensorRT' in x['software'] else 'vllm',
                 weight_format=x['weight_dtypes'], kv_format='fp8', tensor_parallel=1, input_tokens=220 if big else 778,
                 output_tokens=float(x['tokens_per_s']) / float(x['samples_per_s']),
                 input_cv=.8 if big else .55, output_cv=.8 if big else 0)
        group = ('MLPerf Inference 6.0', 'MLPerf ' + x['scenario'], m[0], chip, q['engine'], False)
        if x['scenario'] == 'Offline':
            run = max(600 * rate, (24576 if big else 13368) / n)
            b.add(group, dict(q, concurrency=round(run), requests=round(run)), rate=float(x['tokens_per_s']) / n)
        else:
            b.add(group, dict(q, concurrency=rate * float(x['latency_mean_ms']) * 1e-3), itl=milliseconds(x['tpot_mean_ms']))


FIELDS = {'itl': ('itl_s', 'itl_interval_80_s', 'bound_time_s'), 'ttft': ('ttft_s', 'ttft_interval_80_s', 'bound_ttft_s'),
          'rate': ('output_tokens_per_s', None, None), 'e2e': ('e2e_s', None, 'bound_e2e_s')}


def scores(b):
    """group -> figure -> errors: ratio, whether inside the interval (or None), whether quicker than the bound."""
    found, unanswered = defaultdict(lambda: defaultdict(list)), defaultdict(int)
    for (group, _, measured), a in zip(b.asked, b.answers()):
        if 'error' in a or a.get('feasible') is False or not a.get('itl_s'):
            unanswered[group] += 1
            continue
        for figure, m in measured.items():
            key, interval, bound = FIELDS[figure]
            if not a.get(key):
                continue
            low_high = a.get(interval) if interval else None
            found[group][figure].append((a[key] / m, low_high and low_high[0] <= m <= low_high[1],
                                         bool(bound and a.get(bound) and m < .999 * a[bound])))
    return found, unanswered


def summary(rows, figure):
    """Error (mean; of TTFT the median), bias of the logarithm, share inside, in per cent; None without rows."""
    if not rows:
        return None
    errors = [abs(r - 1) for r, _, _ in rows]
    inside = [i for _, i, _ in rows if i is not None]
    typical = statistics.median if figure == 'ttft' else statistics.fmean
    return dict(n=len(rows), mean=100 * typical(errors),
                bias=100 * (math.exp(statistics.fmean(math.log(r) for r, _, _ in rows)) - 1),
                inside=100 * statistics.fmean(inside) if inside else None,
                quicker=sum(q for _, _, q in rows))


def figures(x):
    if x is None:
        return '-'
    text = f'{x["mean"]:.0f} ({x["bias"]:+.0f})'
    return text + (f', {x["inside"]:.0f}' if x['inside'] is not None else '')


PAGE = '''# Scoreboard of services

Written by `validation/scoreboard.py NAPKIN DIR .` from tables of others, which are not part of this project; `napkin trust` has
the same rows. Each run is asked as it was run: lengths, spread, concurrency, number of requests, layout, formats.

Per figure: mean absolute error (of TTFT the median) in per cent (bias), share of runs inside the 80 % interval. `fitted`: the engine's constants were
fitted to these runs; all others were never fitted. {quicker} of {all} runs are quicker than a bound, {none} have no answer.

Others report, on their own runs: BLIS 2 TPOT 11.9 %, TTFT 31.5 %; AISimulate TPOT 28 %, and 10.1 % with one factor per shape.
Their runs, loads and fits differ from these: no row is comparable one to one.

Qwen3 14B and 32B on `h100_sxm`, all at once, are GPUStack's. Its page names an SXM card, but three engines run there as on an
H100 PCIe: asked so, tokens/s are 12 % off instead of 59 %.

| protocol | model | GPU | engine | runs | ITL | TTFT | tokens/s or whole request | fitted |
|---|---|---|---|---:|---|---|---|---|
'''


def main():
    napkin, folder, source = sys.argv[1:4]
    b = board(napkin, folder)
    for part in (closed, engine_runs, run_lengths, pools, throughput_tables, arrivals, mlperf):
        part(b)
    found, unanswered = scores(b)
    page, rows, quicker = [], [], 0
    order = lambda g: (g[1], g[2], g[3], g[4], g[0])
    for group in sorted(set(found) | set(unanswered), key=order):
        who, protocol, model, chip, engine, fitted = group
        each = {k: summary(found[group].get(k), k) for k in FIELDS}
        n = max((x['n'] for x in each.values() if x), default=0)
        quicker += sum(x['quicker'] for x in each.values() if x)
        if n == 0:
            continue
        page.append(f'| {protocol} | {model} | {chip} | {engine} | {n} | {figures(each["itl"])} | {figures(each["ttft"])} | '
                    f'{figures(each["rate"] or each["e2e"])} | {"yes" if fitted else "no"} |')
        cells = []
        for k in ('itl', 'ttft', 'rate', 'e2e'):
            x = each[k]
            cells.append('{%.3g, %.3g, %.3g}' % (x['mean'], x['bias'], -1 if x['inside'] is None else x['inside']) if x else '{}')
        rows.append(f'    {{"{who}", "{protocol}", "{model}", {b.sizes[model]}, "{chip}", "{engine}", {n}, {"true" if fitted else "false"}, "{b.measured_with(group)}", '
                    + ', '.join(cells) + '},')
    out = os.path.join(source, 'validation', 'reports', 'scoreboard.md')
    with open(out, 'w') as f:
        f.write(PAGE.format(quicker=quicker, all=len(b.asked), none=sum(unanswered.values())) + '\n'.join(page) + '\n')
    out = os.path.join(source, 'tools', 'napkin', 'published_scores.inc')
    with open(out, 'w') as f:
        f.write('// Written by validation/scoreboard.py from published runs of services.\n' + '\n'.join(rows) + '\n')
    print(f'scoreboard: {len(b.asked)} runs in {len(rows)} groups, {sum(unanswered.values())} without an answer')


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
