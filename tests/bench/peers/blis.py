"""BLIS (inference-sim/inference-sim): its rooflineStepTime, by a Go benchmark that `go test -overlay` adds to the
package without a file in the checkout."""
import json
import os
import re
import string
import subprocess
import tempfile

REMARK = 'Go, wall time; every efficiency 1'
BENCHMARK = string.Template('''package latency

import (
	"testing"

	"github.com/inference-sim/inference-sim/sim"
)

func BenchmarkPerfmodelPeer(b *testing.B) {
	model := sim.ModelConfig{NumLayers: $layers, HiddenDim: $hidden, NumHeads: $heads, NumKVHeads: $kv_heads,
		VocabSize: $vocabulary, BytesPerParam: 2, IntermediateDim: $ffn}
	device := sim.HardwareCalib{TFlopsPeak: 989.5, BwPeakTBs: 3.35, MfuPrefill: 1, MfuDecode: 1}
	step := StepConfig{DecodeRequests: make([]DecodeRequestConfig, $batch)}
	for i := range step.DecodeRequests {
		step.DecodeRequests[i] = DecodeRequestConfig{ProgressIndex: $context, NumNewDecodeTokens: 1}
	}
	b.ResetTimer()
	var us int64
	for i := 0; i < b.N; i++ {
		us = rooflineStepTime(model, device, step, $tensor)
	}
	b.ReportMetric(float64(us)/1e3, "ms/step")
}
''')
RESULT = re.compile(r'^BenchmarkPerfmodelPeer\S*\s+\d+\s+(\S+) ns/op\s+(\S+) ms/step', re.M)


def measured(folder, step):
    with tempfile.TemporaryDirectory() as work:
        source, overlay = os.path.join(work, 'bench.go'), os.path.join(work, 'overlay.json')
        with open(source, 'w') as f:
            f.write(BENCHMARK.substitute(vars(step)))
        with open(overlay, 'w') as f:
            json.dump({'Replace': {os.path.join(folder, 'sim', 'latency', 'perfmodel_peer_test.go'): source}}, f)
        command = ['go', 'test', '-overlay', overlay, '-vet=off', '-run', '^$', '-bench', '^BenchmarkPerfmodelPeer$',
                   '-benchtime', '0.2s', '-count', '9', '-cpu', '1', './sim/latency']
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    results = [(float(ns), float(ms)) for ns, ms in RESULT.findall(done.stdout)]
    if done.returncode or not results:
        said = [line for line in done.stdout.splitlines() if line and not re.match('#|FAIL|ok|goos|goarch', line)]
        raise RuntimeError(said[0] if said else 'go test: status %d, no result' % done.returncode)
    return {'import_s': None, 'call_s': 1e-9 * min(ns for ns, _ in results), 'answer_ms': results[0][1]}
