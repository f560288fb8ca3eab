"""Test of peers.py with stubs that have the calls of the real models, and a clock that they advance themselves: a call
takes the time that its stub says, so that every ratio is a number by hand."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# Steps of 500 and 1,000 ns.
BENCH = '''#!%s
print('{"gemm_roofline_ns":20,"bound_step_ns":500,"bound_step_prepared_ns":14,"calibrated_step_ns":1000,'
      '"calibrated_step_prepared_ns":140}')
''' % sys.executable
CLOCK = '''
import time
now = [time.process_time() + 2.5]
time.process_time = lambda: now[0]
def spend(seconds):
    now[0] += seconds
'''
GENZ = {'GenZ/clock.py': CLOCK, 'GenZ/__init__.py': '''
from GenZ.clock import spend
def decode_moddeling(model='BERT', batch_size=1, input_tokens=4096, output_tokens=0, Bb=4, system_name='A100_40GB_GPU',
                     system_eff=1, bits='bf16', debug=False, model_profilling=False, tensor_parallel=1,
                     pipeline_parallel=1, expert_parallel=1, collective_strategy='GenZ', network_config=None,
                     parallelism_heirarchy='', model_offload=False, ceff=None, meff=None):
    print('a line of the peer')
    spend(1e-3)
    assert (model, system_name, bits, Bb) == ('meta-llama/Llama-3.1-70B', 'H100_GPU', 'bf16', 1)
    return {'Latency': batch_size * input_tokens * 1e-4 / tensor_parallel}
'''}
LLM_ANALYSIS = {'llm_analysis/clock.py': CLOCK, 'llm_analysis/__init__.py': '', 'llm_analysis/config.py': '''
from dataclasses import dataclass
@dataclass
class ModelConfig:
    name: str
    num_layers: int
    n_head: int
    hidden_dim: int
    vocab_size: int
    max_seq_len: int = None
    num_key_value_heads: int = None
    num_key_value_groups: int = None
    ffn_embed_dim: int = None
    expansion_ratio: float = None
    model_type: str = None
    mlp_gated_linear_units: bool = False
@dataclass
class ParallelismConfig:
    tp_size: int = 1
    pp_size: int = 1
def get_gpu_config_by_name(name):
    return {'h100-sxm-80gb': 3350}[name]
''', 'llm_analysis/analysis.py': '''
from llm_analysis.clock import spend
class LLMAnalysis:
    def __init__(self, model_config, gpu_config, dtype_config=None, parallelism_config=None, achieved_tflops=None,
                 achieved_memory_bandwidth_GBs=None, flops_efficiency=None, hbm_memory_efficiency=None):
        assert flops_efficiency == 1 and hbm_memory_efficiency == 1
        assert (model_config.num_key_value_heads, model_config.ffn_embed_dim) == (8, 28672)
        self.layers, self.gpus = model_config.num_layers, parallelism_config.tp_size
    def inference(self, batch_size_per_gpu=1, seq_len=512, num_tokens_to_generate=32, use_kv_cache=True):
        spend(50e-6)
        assert (batch_size_per_gpu, seq_len, num_tokens_to_generate) == (32, 4096, 1)
        return {'prefill_latency': 5, 'decode_latency': 1e-3 * self.layers / self.gpus}
'''}
LLM_VIEWER = {'clock.py': CLOCK, 'hardwares/hardware_params.py': 'hardware_params = {"nvidia_H100": {}}\n',
              'configs/Llama.py': 'def get_hidden_size(model_params):\n    return model_params.hidden_size\n',
              'model_analyzer.py': '''
import importlib
from clock import spend
from hardwares.hardware_params import hardware_params
from transformers import AutoTokenizer, AutoConfig, AutoModelForCausalLM
class ModelAnalyzer:
    def __init__(self, model_id, hardware, config_file=None, source='huggingface'):
        hardware_params[hardware]
        self.shape = AutoConfig.from_pretrained(model_id, trust_remote_code=True)
        self.config = importlib.import_module(config_file.replace('/', '.').replace('.py', ''))
    def analyze(self, seqlen, batchsize, w_bit=16, a_bit=16, kv_bit=None, use_flashattention=False, tp_size=1):
        spend(20e-6)
        assert (seqlen, batchsize, w_bit, a_bit, kv_bit) == (4096, 32, 16, 16, 16)
        return {'total_results': {'decode': {'inference_time': 1e-6 * self.config.get_hidden_size(self.shape)}}}
'''}
# Prints two rounds of a benchmark whose source has the step.
GO = '''#!%s
import json, os, re, sys
target, source = next(iter(json.load(open(sys.argv[sys.argv.index('-overlay') + 1]))['Replace'].items()))
text = open(source).read()
assert os.path.basename(os.path.dirname(target)) == 'latency' and target.endswith('_test.go')
pattern = r'DecodeRequestConfig, (\\d+)\\).*ProgressIndex: (\\d+).*step, (\\d+)\\)'
batch, context, gpus = re.search(pattern, text, re.S).groups()
name = re.search(r'func (Benchmark\\w+)', text)[1]
for ns in (1100, 1050):
    print('%%s \\t 200000\\t %%d ns/op\\t %%g ms/step' %% (name, ns, int(batch) * int(context) / int(gpus) / 1e3))
''' % sys.executable


def write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
    return folder


class peers(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.work)
        write(self.work, {'bench': BENCH, 'bin/go': GO})
        self.bench = os.path.join(self.work, 'bench')
        for program in (self.bench, os.path.join(self.work, 'bin', 'go')):
            os.chmod(program, 0o755)

    def stub(self, name, files):
        return write(os.path.join(self.work, name), files)

    def run_peers(self, *more, status=0, bench=None):
        path = os.pathsep.join([os.path.join(self.work, 'bin'), os.environ['PATH']])
        command = [sys.executable, os.path.join(HERE, 'peers.py'), '--bench', bench or self.bench, *more]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, PATH=path))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def rows(self, *more):
        """Cells of the table's rows, by model."""
        lines = [line for line in self.run_peers(*more).stdout.split('\n') if line.startswith('| ')]
        cells = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]
        return {row[0]: row[1:] for row in cells[1:]}

    def all_stubs(self):
        return ['--genz', self.stub('genz', GENZ), '--llm-analysis', self.stub('llm-analysis', LLM_ANALYSIS),
                '--llm-viewer', self.stub('llm-viewer', LLM_VIEWER), '--blis', self.stub('blis', {'go.mod': ''})]

    def test_table_has_the_ratios(self):
        rows = self.rows(*self.all_stubs())
        self.assertEqual(rows['perfmodel, bound'][2], '500 ns')
        self.assertEqual(rows['perfmodel, calibrated'][2], '1 us')
        self.assertEqual(rows['perfmodel, calibrated, prepared'][2], '140 ns')
        # 1 ms, 50 us, 20 us and 1,050 ns over 500 and 1,000 ns; the answers are those of the stubs' formulas
        self.assertEqual(rows['GenZ'][2:6], ['1 ms', '2,000', '1,000', '1.64 ms'])
        self.assertEqual(rows['llm-analysis'][2:6], ['50 us', '100', '50', '10 ms'])
        self.assertEqual(rows['LLM-Viewer'][2:6], ['20 us', '40', '20', '8.19 ms'])
        self.assertEqual(rows['BLIS'][2:6], ['1.05 us', '2.1', '1.05', '16.4 ms'])
        for name in ('GenZ', 'llm-analysis', 'LLM-Viewer'):
            self.assertRegex(rows[name][1], r'^2\.[5-9]\d? s$')
        self.assertIn('tensor parallel 1', rows['LLM-Viewer'][6])
        self.assertNotIn('MLP', rows['llm-analysis'][6])

    def test_json_has_the_same(self):
        said = json.loads(self.run_peers('--json', *self.all_stubs()).stdout)
        self.assertEqual((said['step']['batch'], said['step']['context']), (32, 4096))
        self.assertEqual(said['perfmodel']['bound_step_ns'], 500)
        first = said['peers'][0]
        self.assertEqual(first['peer'], 'GenZ')
        self.assertAlmostEqual(first['times_as_fast_bound'], 2000, places=6)
        self.assertAlmostEqual(first['answer_ms'], 1.6384)

    def test_older_llm_analysis_says_what_it_lacks(self):
        older = {name: text.replace('    mlp_gated_linear_units: bool = False\n', '')
                 for name, text in LLM_ANALYSIS.items()}
        rows = self.rows('--llm-analysis', self.stub('older', older))
        self.assertIn('two of three MLP matrices', rows['llm-analysis'][6])

    def test_failure_is_a_row(self):
        write(self.work, {'bin/go': '#!/bin/sh\necho "# a package"\necho "x.go:1: undefined: f"\necho FAIL\nexit 1\n'})
        rows = self.rows('--genz', self.stub('fails', {'GenZ/__init__.py': 'import module_of_nowhere\n'}),
                         '--llm-analysis', self.stub('empty', {'README': ''}), '--llm-viewer',
                         self.stub('dies', {'model_analyzer.py': 'import os\nos._exit(3)\n'}), '--blis',
                         self.stub('blis', {'go.mod': ''}))
        self.assertEqual(rows['GenZ'][6], "ModuleNotFoundError: No module named 'module_of_nowhere'")
        self.assertEqual(rows['llm-analysis'][6], "ModuleNotFoundError: No module named 'llm_analysis'")
        self.assertEqual(rows['LLM-Viewer'][6], 'ended with status 3')
        self.assertEqual(rows['BLIS'][6], 'RuntimeError: x.go:1: undefined: f')
        self.assertEqual(rows['GenZ'][2:6], [''] * 4)
        self.assertEqual(rows['perfmodel, bound'][2], '500 ns')

    def test_peer_without_a_checkout_is_a_row(self):
        self.assertEqual(self.rows()['BLIS'][6], 'no checkout: --blis DIR')

    @unittest.skipUnless(shutil.which('git'), 'there is no git')
    def test_row_has_the_commit(self):
        folder = self.stub('genz', GENZ)
        git = ['git', '-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@example.org']
        subprocess.run(git + ['init', '-q'], check=True)
        subprocess.run(git + ['commit', '-q', '--allow-empty', '-m', 'A commit'], check=True)
        commit = subprocess.run(git + ['rev-parse', 'HEAD'], stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(self.rows('--genz', folder)['GenZ'][0], commit[:8])
        below = write(os.path.join(folder, 'below'), GENZ)
        self.assertEqual(self.rows('--genz', below)['GenZ'][0], '')

    def test_missing_folder_is_refused(self):
        done = self.run_peers('--genz', os.path.join(self.work, 'nowhere'), status=2)
        self.assertRegex(done.stderr, r'^peers\.py: --genz .*nowhere: no such folder\n$')
        self.assertEqual(done.stdout, '')

    def test_bench_is_checked(self):
        self.run_peers(bench=os.path.join(self.work, 'nothing'), status=2)
        write(self.work, {'bench': '#!/bin/sh\necho "{}"\n'})
        done = self.run_peers(status=1)
        self.assertEqual(len(done.stderr.strip().split('\n')), 1)
        self.assertIn('bound_step_ns', done.stderr)

    def test_bench_summary_has_the_keys(self):
        sys.path.insert(0, HERE)
        import peers as runner
        with open(os.path.join(HERE, '..', 'bench_summary.cpp')) as f:
            text = f.read()
        for key, _ in runner.OWN:
            self.assertIn('"%s"' % key, text)


if __name__ == '__main__':
    unittest.main()
