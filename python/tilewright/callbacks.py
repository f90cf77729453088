"""Runs a JAX host callback on the memory of the program that calls it.

The library calls `call` while holding the GIL (plugin/ffi/PythonCallback.cpp).
"""

import threading
import traceback

import ml_dtypes
import numpy as np

# By the spelling of the element type. Types narrower than a byte take one byte for each element.
_DTYPES = {
    "i1": np.bool_,
    "i2": ml_dtypes.int2, "i4": ml_dtypes.int4, "ui2": ml_dtypes.uint2, "ui4": ml_dtypes.uint4,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4, "f8E4M3": ml_dtypes.float8_e4m3, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}  # fmt: skip

# The threads in which callbacks run now, by their idents, and how many run in each: a callback may run a program whose
# callbacks run in the same thread. Only that thread changes its entry.
running: dict[int, int] = {}


def call(function, arguments, results) -> str:
    """Calls `function` and writes its results. Returns "" or an error message.

    Arguments and results are (memory, element type, shape). Arguments are
    copied: the function may keep them, and the program reuses the memory.
    """
    thread = threading.get_ident()
    outer = running.get(thread, 0)
    try:
        running[thread] = outer + 1
        inputs = []
        for memory, element, shape in arguments:
            array = np.array(_view(memory, element, shape))
            array.flags.writeable = False
            inputs.append(array)
        outputs = tuple(function(*inputs))
        if len(outputs) != len(results):
            return f"the callback returned {len(outputs)} arrays, the program expects {len(results)}"
        for output, (memory, element, shape) in zip(outputs, results):
            target = _view(memory, element, shape)
            if target.size:
                np.copyto(target, np.asarray(output, dtype=target.dtype).reshape(shape))
        return ""
    except BaseException:  # it must not propagate through C++ frames
        return "the callback raised an exception\n" + traceback.format_exc()
    finally:
        # Without a call, after which Python would raise a KeyboardInterrupt that another thread sent (jax_plugin.py).
        if outer:
            running[thread] = outer
        elif thread in running:
            del running[thread]


def _view(memory, element, shape):
    return np.frombuffer(memory, dtype=_DTYPES[element], count=int(np.prod(shape, dtype=np.int64))).reshape(shape)
