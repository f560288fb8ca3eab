"""measure.py ADAPTER DIR: CPU times of a peer's checkout in this process, as one JSON object.

An adapter has `load()`, which imports the peer and returns its parts, and `prepare(parts, step)`, which returns a
function that evaluates one decode step and returns its time in ms. An adapter of a program has `measured(DIR, step)`
instead. REMARK says what differs from the step asked for."""
import importlib.util
import json
import logging
import os
import sys
import time
from types import SimpleNamespace

# One decode step of Llama 3 70B in bf16: requests in the batch, tokens of each, GPUs of tensor parallelism.
STEP = SimpleNamespace(batch=32, context=4096, tensor=8, layers=80, hidden=8192, heads=64, kv_heads=8, ffn=28672,
                       vocabulary=128256)
HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 9
ROUND_SECONDS = 0.02


def cpu_seconds(call, calls):
    start = time.process_time()
    for _ in range(calls):
        call()
    return time.process_time() - start


def least_cpu_seconds(call):
    """Least CPU time of a call over several rounds of at least 20 ms."""
    calls = 1
    took = cpu_seconds(call, calls)
    while took < ROUND_SECONDS and calls < 1 << 20:
        calls *= 2
        took = cpu_seconds(call, calls)
    return min([took] + [cpu_seconds(call, calls) for _ in range(ROUNDS - 1)]) / calls


def adapter_of(path):
    """The adapter as a module of another name: llm_analysis.py must not hide the package llm_analysis."""
    spec = importlib.util.spec_from_file_location('peer_adapter', path)
    module = importlib.util.module_from_spec(spec)
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = kept
    return module


def measured(adapter, folder):
    if hasattr(adapter, 'measured'):
        return adapter.measured(folder, STEP)
    sys.path[:] = [folder] + [p for p in sys.path if os.path.abspath(p or '.') != HERE]
    logging.disable(logging.WARNING)  # a terminal's time is not the model's
    start = time.process_time()
    parts = adapter.load()
    imported = time.process_time() - start
    call = adapter.prepare(parts, STEP)
    answer = float(call())
    return {'import_s': imported, 'call_s': least_cpu_seconds(call), 'answer_ms': answer}


def reason_of(error):
    """One line of an exception."""
    text = ' '.join(str(error).split())
    return (type(error).__name__ + (': ' + text if text else ''))[:160]


def main(path, folder):
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)  # what a peer prints is no result
    os.chdir(folder)
    try:
        adapter = adapter_of(path)
        result = measured(adapter, folder)
        result['remark'] = getattr(adapter, 'REMARK', '')
    except (Exception, SystemExit) as error:
        result = {'error': reason_of(error)}
    json.dump(result, out)
    out.close()


if __name__ == '__main__':
    main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
