"""Timing, clocks and results for library_kernels.py and whole_model.py.

A time is the median of samples between CUDA events. A sample replays a CUDA graph of many calls, which
rotate through copies of their weights; where a call cannot be captured, it is launched eagerly instead and
the line says so. The SM clock is counted by the SMs (clock64 over globaltimer) where cupy is there; NVML's
clock, power and clock-limiting reasons are read while the samples run.
"""
import datetime
import importlib.metadata
import json
import os
import signal
import statistics
import subprocess
import time

L2_BYTES = 50 << 20
REASONS = {0x2: "application clocks setting", 0x4: "software power cap", 0x8: "hardware slowdown",
           0x20: "software thermal slowdown", 0x40: "hardware thermal slowdown", 0x80: "hardware power brake"}


def copies_beyond_l2(bytes_of_one, most_bytes=16 << 30):
    """Copies that together exceed five times the L2, two at least where they fit."""
    return max(1, min(max(2, -(-5 * L2_BYTES // bytes_of_one)), most_bytes // bytes_of_one))


class Sensors:
    def __init__(self):
        self.nvml = None
        try:
            import pynvml
            pynvml.nvmlInit()
            self.handle = pynvml.nvmlDeviceGetHandleByIndex(0)
            self.nvml = pynvml
        except Exception as error:
            print("sensors: no pynvml:", one_line(error), flush=True)

    def read(self):
        try:
            return self.read_nvml() if self.nvml else self.read_smi()
        except Exception as error:
            return {"sensors": one_line(error)}

    def read_nvml(self):
        n, h = self.nvml, self.handle
        get = getattr(n, "nvmlDeviceGetCurrentClocksEventReasons", None) or \
            n.nvmlDeviceGetCurrentClocksThrottleReasons
        bits = get(h)
        out = {"nvml_clock_hz": 1e6 * n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM),
               "power_w": 1e-3 * n.nvmlDeviceGetPowerUsage(h),  # the mean of a second, on most GPUs
               "temperature_c": n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU),
               "slowdown": ", ".join(name for bit, name in REASONS.items() if bits & bit)}
        try:
            field = n.nvmlDeviceGetFieldValues(h, [186])[0]  # NVML_FI_DEV_POWER_INSTANT, in mW
            if field.nvmlReturn == 0:
                out["power_now_w"] = 1e-3 * field.value.uiVal
        except Exception:
            pass
        return out

    def joules(self):
        """What the board has taken since the driver was loaded; None where it has no such counter."""
        try:
            return 1e-3 * self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle)
        except Exception:
            return None

    def read_smi(self):
        keys = "clocks.sm,power.draw,temperature.gpu,clocks_event_reasons.active"
        out = subprocess.run(["nvidia-smi", "--query-gpu=" + keys, "--format=csv,noheader,nounits"],
                             capture_output=True, text=True, timeout=5, check=True).stdout.split(",")
        bits = int(out[3].strip(), 16)
        return {"nvml_clock_hz": 1e6 * float(out[0]), "power_w": float(out[1]), "temperature_c": float(out[2]),
                "slowdown": ", ".join(name for bit, name in REASONS.items() if bits & bit)}


class ClockCounter:
    """Reads cycles and nanoseconds of every SM in the current stream."""
    SOURCE = r'''extern "C" __global__ void mark(long long* out) {
      unsigned sm; long long t;
      asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
      out[2 * sm] = clock64(); out[2 * sm + 1] = t; }'''

    def __init__(self):
        self.kernel = None
        try:
            import cupy
            self.cupy = cupy
            self.kernel = cupy.RawKernel(self.SOURCE, "mark")
            self.marks = [cupy.zeros(2048, cupy.int64) for _ in range(2)]
            self.mark(0)
            cupy.cuda.Device().synchronize()
        except Exception as error:
            self.kernel = None
            print("clock: not counted:", one_line(error), flush=True)

    def mark(self, which):
        if self.kernel is None:
            return
        import torch
        with self.cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            if which == 0:
                for m in self.marks:
                    m.fill(0)
            self.kernel((512,), (1,), (self.marks[which],))

    def between_marks(self):
        if self.kernel is None:
            return None
        first, last = (m.get().reshape(-1, 2) for m in self.marks)
        hz = [1e9 * float(b[0] - a[0]) / float(b[1] - a[1]) for a, b in zip(first, last)
              if a[1] > 0 and b[1] > a[1] and b[0] > a[0]]
        return statistics.median(hz) if hz else None


def one_line(error):
    return (type(error).__name__ + ": " + " ".join(str(error).split()))[:240]


class Results:
    """Appends one JSON object a line, and stops a run whose time is up."""

    def __init__(self, name, seconds):
        folder = os.environ.get("OUT", ".")
        os.makedirs(folder, exist_ok=True)
        self.file = open(os.path.join(folder, name + ".jsonl"), "a", buffering=1)
        self.end = time.monotonic() + seconds
        signal.signal(signal.SIGALRM, self.stop)
        signal.setitimer(signal.ITIMER_REAL, seconds + 5)

    @staticmethod
    def stop(*_):
        raise TimeoutError("the run's time is up")

    def left(self):
        return self.end - time.monotonic()

    def write(self, line):
        self.file.write(json.dumps(line) + "\n")

    def header(self, program):
        line = {"program": program, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
                "revision": os.environ.get("PERFMODEL_REVISION", "unknown")}
        for package in ("torch", "triton", "transformers", "cupy-cuda13x", "nvidia-cudnn-cu13",
                        "nvidia-cublas"):
            try:
                line[package] = importlib.metadata.version(package)
            except Exception:
                pass
        try:
            import torch
            properties = torch.cuda.get_device_properties(0)
            line.update(device=properties.name, sms=properties.multi_processor_count,
                        memory_bytes=properties.total_memory, l2_bytes=properties.L2_cache_size,
                        cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version())
        except Exception as error:
            line["device"] = one_line(error)
        self.write(line)
        print(line, flush=True)


class Timer:
    def __init__(self, samples=9, least_seconds=2e-3, rest_seconds=0.1):
        self.samples, self.least, self.rest = samples, least_seconds, rest_seconds
        self.sensors, self.clock = Sensors(), ClockCounter()

    def time(self, call, copies=1, most_calls=1000, energy_seconds=0.0):
        """call(i) uses copy i % copies. Returns the keys of a result line; with energy_seconds also the
        joules of a call, over so many seconds of calls."""
        import torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for i in range(max(3, min(copies, 8))):
                call(i % copies)
            stream.synchronize()
            begin = time.perf_counter()
            for i in range(3):
                call(i % copies)
            stream.synchronize()
            one = max((time.perf_counter() - begin) / 3, 1e-6)
            # Of short calls as many as allowed: between two replays lie some microseconds.
            calls = most_calls if one < 50e-6 else max(1, min(most_calls, round(self.least / one)))
            calls = -(-calls // copies) * copies
            graph, why = None, ""
            try:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=stream):
                    for i in range(calls):
                        call(i % copies)
            except Exception as error:
                graph, why = None, one_line(error)
                torch.cuda.synchronize()

            def sample():
                if graph is not None:
                    graph.replay()
                else:
                    for i in range(calls):
                        call(i % copies)

            time.sleep(self.rest)
            events = [torch.cuda.Event(enable_timing=True) for _ in range(self.samples + 1)]
            sample()
            sample()
            self.clock.mark(0)
            events[0].record()
            for k in range(self.samples):
                sample()
                events[k + 1].record()
            self.clock.mark(1)
            sensors = self.sensors.read()  # while the samples run, or shortly after
            stream.synchronize()
            if energy_seconds > 0:
                repeats = max(1, round(energy_seconds / (1e-3 * events[0].elapsed_time(events[1]))))
                sensors.update(self.energy(sample, repeats, repeats * calls, stream))
        seconds = [1e-3 * events[k].elapsed_time(events[k + 1]) / calls for k in range(self.samples)]
        line = {"median_s": statistics.median(seconds), "samples": seconds, "calls": calls, "copies": copies,
                "launch": "graph" if graph is not None else "eager", "sm_clock_hz": self.clock.between_marks(),
                **sensors}
        if why:
            line["not_captured"] = why
        if graph is not None:
            graph.reset()
        return line

    def energy(self, sample, repeats, calls, stream):
        """Joules and seconds of a call, from the board's counter over `repeats` samples."""
        sample()
        stream.synchronize()
        before, begin = self.sensors.joules(), time.perf_counter()
        for _ in range(repeats):
            sample()
        stream.synchronize()
        seconds, after = time.perf_counter() - begin, self.sensors.joules()
        if before is None or after is None:
            return {}
        return {"joules": (after - before) / calls, "energy_seconds": seconds,
                "energy_power_w": (after - before) / seconds}


def measure(results, quantity, parameters, run):
    """One point: run() gives the keys of its result. What it raises costs this point alone."""
    if results.left() < 0:
        raise TimeoutError("the run's time is up")
    try:
        found = run()
        results.write({"quantity": quantity, "parameters": parameters, **found})
        clock = found.get("sm_clock_hz") or found.get("nvml_clock_hz") or 0
        print(quantity, *parameters.values(), f"{1e6 * found['median_s']:.2f} us", f"{clock / 1e9:.3f} GHz",
              found.get("launch", ""), flush=True)
    except TimeoutError:
        raise
    except Exception as error:
        results.write({"quantity": quantity, "parameters": parameters, "skipped": one_line(error)})
        print("skipped", quantity, *parameters.values(), one_line(error), flush=True)
        try:
            import torch
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except Exception as lost:
            raise TimeoutError("the device is lost: " + one_line(lost)) from lost
