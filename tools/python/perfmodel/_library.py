"""libperfmodel_c by ctypes: bytes in, bytes out. The functions are described in c_api.h."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from typing import Optional, Tuple

STEP_REFUSED = 2


def _paths():
    """Where the library may be: PERFMODEL_LIBRARY, beside this file (a wheel), the loader's places."""
    if os.environ.get("PERFMODEL_LIBRARY"):
        yield os.environ["PERFMODEL_LIBRARY"]
        return
    here = pathlib.Path(__file__).parent
    for name in ("libperfmodel_c.so", "libperfmodel_c.dylib", "perfmodel_c.dll"):
        if (here / name).exists():
            yield str(here / name)
    found = ctypes.util.find_library("perfmodel_c")
    if found:
        yield found
    yield "libperfmodel_c.so"


def _load() -> ctypes.CDLL:
    failures = []
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError as e:
            failures.append(str(e))
    raise ImportError(
        "perfmodel: libperfmodel_c is not found: "
        + "; ".join(failures)
        + ". Run through `./run python`, or name the library by PERFMODEL_LIBRARY=FILE"
    )


_c = _load()
_c.perfmodel_version.restype = ctypes.c_char_p
_c.perfmodel_version.argtypes = []
for _name in ("perfmodel_ask", "perfmodel_ask_lines"):
    _f = getattr(_c, _name)
    _f.restype = ctypes.c_void_p
    _f.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]
_c.perfmodel_free.restype = None
_c.perfmodel_free.argtypes = [ctypes.c_void_p]
_c.perfmodel_step_new.restype = ctypes.c_void_p
_c.perfmodel_step_new.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
_c.perfmodel_step_free.restype = None
_c.perfmodel_step_free.argtypes = [ctypes.c_void_p]
_step_time = _c.perfmodel_step_time
_step_time.restype = ctypes.c_int
_step_time.argtypes = [
    ctypes.c_void_p,
    ctypes.c_double,
    ctypes.c_double,
    ctypes.c_double,
    ctypes.POINTER(ctypes.c_double),
]


def version() -> str:
    return _c.perfmodel_version().decode()


def _answered(function, text: bytes) -> bytes:
    length = ctypes.c_size_t()
    result = function(text, len(text), ctypes.byref(length))
    if not result:
        raise MemoryError("no memory for a result")
    try:
        return ctypes.string_at(result, length.value)
    finally:
        _c.perfmodel_free(result)


def ask(text: bytes) -> bytes:
    return _answered(_c.perfmodel_ask, text)


def ask_lines(text: bytes) -> bytes:
    return _answered(_c.perfmodel_ask_lines, text)


def step_new(text: bytes) -> Tuple[Optional[int], Optional[bytes]]:
    """The step, or the refusal."""
    refusal = ctypes.c_void_p()
    step = _c.perfmodel_step_new(text, len(text), ctypes.byref(refusal))
    if step:
        return step, None
    if not refusal.value:
        return None, None
    try:
        return None, ctypes.string_at(refusal.value)
    finally:
        _c.perfmodel_free(refusal.value)


def step_time(step: int, batch: float, context: float, prefill_tokens: float) -> Tuple[int, float]:
    seconds = ctypes.c_double()
    status = _step_time(step, batch, context, prefill_tokens, ctypes.byref(seconds))
    return status, seconds.value


step_free = _c.perfmodel_step_free
