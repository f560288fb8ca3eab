"""The Python module: results equal to those of `napkin --json`. NAPKIN names the program."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import unittest

import perfmodel

NAPKIN = os.environ["NAPKIN"]
STEP = {"model": "llama_3_70b", "accelerator": "h100_sxm", "tensor_parallel": 4}
REQUESTS = [
    {"query": "ridge", "accelerator": "h100_sxm", "format": "bf16"},
    {"query": "gemm", "accelerator": "mi300x", "m": 16, "n": 8192, "k": 8192, "format": "fp8"},
    {"query": "kv_capacity", "model": "llama_3_8b", "accelerator": "l4", "context": 4096},
    {"query": "step", **STEP, "batch": 16, "context": 2048},
    {"query": "step", "model": "llama_3_1_405b", "accelerator": "l4", "batch": 1, "context": 128},
    {"query": "speculation", "acceptance": [0.8, 0.6], "draft_length": 2, "draft_cost_ratio": 0.1},
]


def napkin(query, request):
    """What the program prints for a request."""
    words = [NAPKIN, *query.split()]
    for key, value in request.items():
        if key == "query":
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += ["--" + key.replace("_", "-"), text]
    done = subprocess.run(words + ["--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


class Ask(unittest.TestCase):
    def test_results_are_napkins(self):
        for request in REQUESTS:
            with self.subTest(request):
                self.assertEqual(perfmodel.ask(request), napkin(request["query"], request))

    def test_plan_and_explain_are_napkins(self):
        load = {"model": "llama_3_8b", "accelerator": "l4", "gpus": 1, "input_tokens": 512,
                "output_tokens": 64, "concurrency": 2}
        self.assertEqual(perfmodel.ask({"query": "plan", **load}), napkin("plan", load))
        self.assertEqual(perfmodel.explain({"query": "plan", **load}, row=1), napkin("explain plan", {**load, "row": 1}))
        step = {**STEP, "batch": 16, "context": 2048}
        self.assertEqual(perfmodel.explain({"query": "step", **step}), napkin("explain step", step))

    def test_check_compares_closed_form_and_simulation(self):
        load = {"model": "llama_3_8b", "accelerator": "h100_sxm", "input_tokens": 200, "output_tokens": 20, "concurrency": 4}
        checked = perfmodel.ask({"query": "serving", **load, "check": True})
        form = perfmodel.ask({"query": "serving", **load, "method": "closed_form"})
        simulated = perfmodel.ask({"query": "serving", **load, "method": "simulation"})
        for key in ("itl_s", "ttft_s", "output_tokens_per_s"):
            self.assertEqual(checked["check"][key]["closed_form"], form[key])
            self.assertEqual(checked["check"][key]["simulation"], simulated[key])
        with self.assertRaises(perfmodel.Error):
            perfmodel.ask({"query": "step", **STEP, "batch": 1, "context": 10, "check": True})

    def test_keys_as_arguments(self):
        self.assertEqual(perfmodel.ask(query="ridge", accelerator="h100_sxm", format="bf16"), perfmodel.ask(REQUESTS[0]))

    def test_a_request_is_left_as_it_is(self):
        request = copy.deepcopy(REQUESTS[3])
        perfmodel.ask(request)
        self.assertEqual(request, REQUESTS[3])

    def test_what_does_not_fit_is_a_result(self):
        result = perfmodel.ask(REQUESTS[4])
        self.assertFalse(result["feasible"])
        self.assertIsNone(result["time_s"])
        self.assertIn("usable", result["reason"])

    def test_errors(self):
        with self.assertRaises(perfmodel.Error) as caught:
            perfmodel.ask({"query": "ridge", "accelerator": "h100_sxn", "format": "bf16", "id": 7})
        self.assertEqual(caught.exception.code, "PM-E011")
        self.assertIn("h100_sxm", caught.exception.message)
        self.assertEqual(caught.exception.id, 7)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((again.code, again.message, again.id), ("PM-E011", caught.exception.message, 7))
        hostile = [{}, {"query": "nothing"}, {"query": 3}, {"query": "gemm", "m": float("nan")}, {"query": object()},
                   {"query": "\0"}, {"query": "\ud800"}, {"query": "x" * (2 << 20)}, "text", None, [1]]
        for request in hostile:
            with self.subTest(str(request)[:40]), self.assertRaises(perfmodel.Error):
                perfmodel.ask(request)

    def test_many(self):
        results = perfmodel.ask_many(REQUESTS)
        self.assertEqual(results, [perfmodel.ask(r) for r in REQUESTS])
        kept = perfmodel.ask_many([REQUESTS[0], {"query": "nothing"}], errors="keep")
        self.assertEqual((kept[0], kept[1]["error"]["code"]), (results[0], "PM-E002"))
        with self.assertRaises(perfmodel.Error):
            perfmodel.ask_many([REQUESTS[0], {"query": "nothing"}])
        self.assertEqual(perfmodel.ask_many([]), [])

    def test_threads(self):
        expected = [perfmodel.ask(r) for r in REQUESTS]
        wrong = []

        def work(first):
            for i in range(100):
                at = (first + i) % len(REQUESTS)
                if perfmodel.ask(REQUESTS[at]) != expected[at]:
                    wrong.append(at)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class Sweep(unittest.TestCase):
    def test_the_last_key_varies_fastest(self):
        rows = perfmodel.sweep("step", over={"batch": [1, 8], "context": [1024, 8192]}, **STEP)
        self.assertEqual([(r["batch"], r["context"]) for r in rows], [(1, 1024), (1, 8192), (8, 1024), (8, 8192)])
        for r in rows:
            one = perfmodel.ask({"query": "step", **STEP, "batch": r["batch"], "context": r["context"]})
            self.assertEqual({**r, **one}, r)

    def test_facts(self):
        rows = perfmodel.sweep("ridge", over={"dram.bandwidth": ["1 TB/s", "2 TB/s"]}, accelerator="h100_sxm", format="bf16")
        # 989.4 TFLOP/s over 1 and 2 TB/s, by hand.
        self.assertEqual([round(r["flop_per_byte"], 1) for r in rows], [989.4, 494.7])

    def test_frame(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not here")
        frame = perfmodel.sweep("step", over={"batch": [1, 8]}, context=1024, frame=True, **STEP)
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame["batch"]), [1, 8])
        self.assertTrue((frame["time_s"] > 0).all())

    def test_refused(self):
        for over in ({"batch": 3}, {"batch": []}, {"batch": "1..8"}, {"nothing": [1]}):
            with self.subTest(over), self.assertRaises(perfmodel.Error):
                perfmodel.sweep("step", over=over, context=1024, **STEP)


class Steps(unittest.TestCase):
    def test_times_are_those_of_step(self):
        deployments = [
            STEP,
            {**STEP, "mode": "bound"},
            {"model": "deepseek_v3", "accelerator": "h200_sxm", "tensor_parallel": 8, "engine": "sglang"},
            {"model": "gpt_oss_120b", "accelerator": "mi300x", "engine": "vllm", "pipeline_parallel": 2},
            {"model": "gemma_3_27b", "accelerator": "h20", "tp": 2, "weight_format": "fp8", "tokens_per_sequence": 4},
        ]
        shapes = [(1, 1, 0), (16, 2048, 0), (256, 8192, 512), (0, 0, 4096), (7, 100000, 3)]
        finite = 0
        for deployment in deployments:
            step = perfmodel.Step(deployment)
            for batch, context, prefill in shapes:
                asked = {"query": "step", **deployment, "batch": batch, "prefill_tokens": prefill}
                if batch:
                    asked["context"] = context
                expected = perfmodel.ask(asked)["time_s"]
                time_s = step.time(batch, context, prefill)
                with self.subTest(deployment=deployment, shape=(batch, context, prefill)):
                    if expected is None:
                        self.assertEqual(time_s, math.inf)
                    else:
                        finite += 1
                        self.assertLessEqual(abs(time_s - expected), 1e-12 * expected)
                self.assertEqual(perfmodel.step_time(batch, context, prefill, **deployment), time_s)
        self.assertGreater(finite, 15)

    def test_changed_chip(self):
        # Bound decode of a dense model is bytes over bandwidth: half as long at twice the bandwidth.
        keys = {"model": "llama_3_8b", "accelerator": "h100_sxm", "mode": "bound"}
        slow = perfmodel.Step(keys, set={"dram.bandwidth": "2 TB/s"}).time(1, 128)
        fast = perfmodel.Step(keys, set={"dram.bandwidth": "4 TB/s"}).time(1, 128)
        self.assertAlmostEqual(slow / fast, 2.0, delta=1e-9)

    def test_refused(self):
        for keys in ({}, {**STEP, "batch": 3}, {**STEP, "unknown": 1}, {**STEP, "query": "gemm"}, {**STEP, "measured_s": 1}):
            with self.subTest(keys), self.assertRaises(perfmodel.Error):
                perfmodel.Step(keys)
        step = perfmodel.Step(STEP)
        for shape in ((-1, 1, 0), (1.5, 1, 0), (0, 0, 0), (math.nan, 1, 0), (1, math.inf, 0), (1, 0, 0), (1e16, 1, 0)):
            with self.subTest(shape), self.assertRaises(perfmodel.Error):
                step.time(*shape)

    def test_infeasible(self):
        step = perfmodel.Step(model="llama_3_1_405b", accelerator="l4")
        self.assertEqual(step.time(1, 128), math.inf)
        self.assertIn("usable", step.answer(1, 128)["reason"])

    def test_a_step_takes_microseconds(self):
        step = perfmodel.Step(STEP)
        best = math.inf
        for _ in range(20):
            begin = time.perf_counter()
            for batch in range(1, 101):
                step.time(batch, 2048)
            best = min(best, (time.perf_counter() - begin) / 100)
        # 10 us where the library is optimised; the builds of the tests are not.
        self.assertLess(best, float(os.environ.get("PERFMODEL_STEP_SECONDS", "1e-4")))

    def test_threads_share_a_step(self):
        step = perfmodel.Step(STEP)
        expected = [step.time(b, 2048) for b in range(1, 51)]
        wrong = []

        def work():
            if [step.time(b, 2048) for b in range(1, 51)] != expected:
                wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class Package(unittest.TestCase):
    def test_version(self):
        said = subprocess.run([NAPKIN, "--version"], capture_output=True, text=True).stdout
        self.assertEqual(said.split()[-1], perfmodel.version())

    def test_public_names_have_docstrings(self):
        for name in perfmodel.__all__:
            self.assertTrue(getattr(perfmodel, name).__doc__, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
