"""How fast large models run on real machines: perfmodel from Python.

    >>> import perfmodel
    >>> perfmodel.ask({"query": "ridge", "accelerator": "h100_sxm", "format": "bf16"})["flop_per_byte"]
    295.34328358208955

A request is a dict, as in one line of `napkin batch`; a result is the dict that `napkin --json`
prints: s, bytes, FLOP, USD. A refused request raises `perfmodel.Error`. What does not fit is a
result: {"feasible": False, "reason": "..."}, with times of None.
"""

from __future__ import annotations

import itertools
import json
import math
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from . import _library

__all__ = ["Error", "Step", "ask", "ask_many", "explain", "step_time", "sweep", "version"]

Request = Mapping[str, Any]
Result = Dict[str, Any]


class Error(ValueError):
    """A refused request. `code` is as in `PM-E011`; `message` names the key, its value and what is allowed."""

    def __init__(self, code: str, message: str, id: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.id = id

    def __reduce__(self):  # so that it can pass between processes
        return (Error, (self.code, self.message, self.id))


def version() -> str:
    """The version of the library: "0.3.0"."""
    return _library.version()


def _text(request: Request) -> bytes:
    if not isinstance(request, Mapping):
        raise Error("PM-E001", f"a request is a dict, not {type(request).__name__}")
    try:
        return json.dumps(dict(request), allow_nan=False, ensure_ascii=False, default=_plain).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as e:
        raise Error("PM-E001", f"the request is not JSON: {e}") from None


def _plain(value: Any) -> Any:
    """Numbers of NumPy and paths, which the json module does not take."""
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    for convert in ("item", "tolist"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _raise_refused(result: Result) -> Result:
    refused = result.get("error")
    if isinstance(refused, dict) and "code" in refused:
        raise Error(refused["code"], refused["message"], result.get("id"))
    return result


def ask(request: Optional[Request] = None, **keys: Any) -> Result:
    """The result of one request, such as

        ask({"query": "step", "model": "llama_3_70b", "accelerator": "h100_sxm",
             "tensor_parallel": 4, "batch": 16, "context": 2048})["time_s"]

    or with keys as arguments: ask(query="ridge", accelerator="h100_sxm"). Queries are those of
    `napkin batch`, and plan, explain, sensitivity, audit, gpus and models. Raises Error.
    """
    return _raise_refused(json.loads(_library.ask(_text({**(request or {}), **keys} if keys else request))))


def ask_many(requests: Iterable[Request], errors: str = "raise") -> List[Result]:
    """Results of many requests, in order. errors="raise" raises Error at the first refused one;
    errors="keep" leaves {"id", "line", "error": {"code", "message"}} in its place."""
    if errors not in ("raise", "keep"):
        raise ValueError(f"errors is {errors!r}; allowed: 'raise', 'keep'")
    lines = b"\n".join(_text(r) for r in requests)
    results = [json.loads(line) for line in _library.ask_lines(lines).splitlines()] if lines else []
    return results if errors == "keep" else [_raise_refused(r) for r in results]


def explain(request: Request, row: Optional[int] = None) -> Result:
    """The derivation of a result: inputs with their sources, steps with their formulas. `row` is one
    of a plan's table, from 1."""
    asked: Result = {"query": "explain", "of": dict(request)}
    if row is not None:
        asked["row"] = row
    return ask(asked)


def _value_lists(over: Mapping[str, Any]) -> Iterator[List[Any]]:
    for key, values in over.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise Error("PM-E005", f"over[{key!r}] is {values!r}; allowed: a list of values")
        listed = list(values)
        if not listed:
            raise Error("PM-E005", f"over[{key!r}] is empty; allowed: a list of values")
        yield listed


def sweep(
    query: str,
    over: Mapping[str, Sequence[Any]],
    frame: bool = False,
    errors: str = "raise",
    **keys: Any,
) -> Union[List[Result], Any]:
    """A query over the product of lists of values; the last key varies fastest.

        sweep("step", over={"batch": [1, 8, 64], "context": [1024, 8192]},
              model="llama_3_8b", accelerator="h100_sxm")

    A key with a dot is a fact of the accelerator: {"dram.bandwidth": ["4 TB/s", "8 TB/s"]}. Each
    result is a dict of the swept values and the keys of the answer. frame=True: a pandas DataFrame.
    """
    names = list(over)
    points = [dict(zip(names, values)) for values in itertools.product(*_value_lists(over))]
    results = ask_many([_at_point(query, keys, p) for p in points], errors)
    rows = [{**p, **r} for p, r in zip(points, results)]
    if not frame:
        return rows
    try:
        import pandas
    except ImportError:
        raise ImportError("sweep(frame=True) needs pandas; frame=False returns a list of dicts") from None
    return pandas.DataFrame(rows)


def _at_point(query: str, keys: Mapping[str, Any], point: Mapping[str, Any]) -> Result:
    facts = {k: v for k, v in point.items() if "." in k}
    request = {"query": query, **keys, **{k: v for k, v in point.items() if "." not in k}}
    if facts:
        request["set"] = {**keys.get("set", {}), **facts}
    return request


class Step:
    """Engine steps of one deployment, for a scheduler or a simulator.

        step = Step(model="llama_3_70b", accelerator="h100_sxm", tensor_parallel=4, engine="vllm")
        step.time(batch=16, context=2048)

    The request is read once; a call takes microseconds. Threads may share a Step.
    """

    def __init__(self, request: Optional[Request] = None, **keys: Any) -> None:
        """Keys of `napkin step` without batch, context and prefill_tokens. Raises Error."""
        self._step = None
        self._request: Result = {**(request or {}), **keys}
        self._step, refusal = _library.step_new(_text(self._request))
        if self._step is None:
            _raise_refused(json.loads(refusal or b"{}"))
            raise MemoryError("no memory for a step")

    def time(self, batch: float, context: float = 0, prefill_tokens: float = 0) -> float:
        """Time of one engine step in s: `batch` decoding sequences with `context` tokens in the KV
        cache each, and `prefill_tokens` of prompts. Infinity where the step does not fit in memory;
        `answer` has the reason. Raises Error for a number that is not allowed."""
        status, seconds = _library.step_time(self._step, batch, context, prefill_tokens)
        if status == _library.STEP_REFUSED:
            self.answer(batch, context, prefill_tokens)
            raise Error("PM-E001", f"no step has batch {batch}, context {context}, prefill_tokens {prefill_tokens}")
        return seconds

    def answer(self, batch: float, context: float = 0, prefill_tokens: float = 0) -> Result:
        """The whole result of the step: terms, limiter, interval, reason."""
        asked = {**self._request, "query": "step", "batch": batch, "prefill_tokens": prefill_tokens}
        if batch:
            asked["context"] = context
        for key in ("batch", "context", "prefill_tokens"):
            value = asked.get(key, 0)
            if isinstance(value, float) and not math.isfinite(value):
                raise Error("PM-E010", f"{key} is {value}; allowed: a whole number from 0")
        return ask(asked)

    def __del__(self) -> None:
        if getattr(self, "_step", None) is not None:
            _library.step_free(self._step)
            self._step = None

    def __repr__(self) -> str:
        return f"perfmodel.Step({', '.join(f'{k}={v!r}' for k, v in self._request.items())})"


_steps: Dict[Any, Step] = {}


def step_time(batch: float, context: float = 0, prefill_tokens: float = 0, **deployment: Any) -> float:
    """`Step(**deployment).time(batch, context, prefill_tokens)`, with the last 64 deployments remembered."""
    key: Any = tuple(deployment.items())
    try:
        step = _steps.get(key)
    except TypeError:  # a list or a dict among the values
        key = _text(deployment)
        step = _steps.get(key)
    if step is None:
        if len(_steps) >= 64:
            _steps.clear()
        step = _steps[key] = Step(deployment)
    return step.time(batch, context, prefill_tokens)
