"""A program: a function that launches kernels on NumPy arrays and returns actual and expected results.

    @program(within(1e-6, because="one rounding of f32 each for the product and the sum"))
    def saxpy():
        x, y = normal(1000), normal(1000)
        out = empty(1000)
        saxpy_kernel[(8,)](x, y, out, 1000, 2.0, BLOCK=128)
        return out, 2 * x + y

A program does not know about the virtual GPU: the same file runs on a machine with a GPU if its arrays are there.
"""

import ctypes
import dataclasses
import math
import weakref
import zlib

import ml_dtypes
import numpy as np
import triton

bfloat16, float8_e4m3, float8_e5m2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2

PROGRAMS = {}


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """|got - want| <= absolute + relative * |want|, for every element; `because` says where the figures come from."""

    relative: float
    absolute: float
    because: str


def within(relative, absolute=0.0, *, because):
    return Tolerance(relative, absolute, because)


def exact(because):
    return Tolerance(0.0, 0.0, because)


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    subject: str
    run: callable
    tolerance: Tolerance
    needs: int  # minimum capability of the chip
    below: int  # chips of this capability and later ones lack what it needs
    slow: bool
    seed: int
    reports: int  # capability from which on the checks rightly report it; 0: never


# The oldest chip that supports a program. By default: any of them.
ANY, ADA, HOPPER, BLACKWELL = 80, 89, 90, 100


def program(tolerance, needs=ANY, slow=False, name=None, reports=0, below=1000):
    """Registers a program under its function's name."""

    def register(function):
        key = name or function.__name__
        if key in PROGRAMS:
            raise ValueError(f"two programs are named {key}: {PROGRAMS[key].subject} and {function.__module__}")
        subject = function.__module__.rpartition(".")[2]
        PROGRAMS[key] = Program(key, subject, function, tolerance, needs, below, slow, zlib.crc32(key.encode()), reports)
        return function

    return register


def differences(got, want, tolerance):
    """The largest difference, and the largest difference as a fraction of the tolerance (at most 1 is a pass)."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise AssertionError(f"the shapes differ: got {got.shape}, want {want.shape}")
    # int64 and uint64 do not fit into f64, so integers are compared as they are.
    if want.dtype.kind in "iub":
        if got.dtype.kind not in "iub":
            raise AssertionError(f"the types differ: got {got.dtype}, want {want.dtype}")
        wrong = got != want
        largest = float(np.abs(got.astype(np.float64) - want.astype(np.float64))[wrong].max(initial=0.0))
        return largest, (math.inf if wrong.any() else 0.0)
    got, want = got.astype(np.float64), want.astype(np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(got - want))
    off = np.where(np.isnan(off), np.inf, off)
    allowed = tolerance.absolute + tolerance.relative * np.where(np.isfinite(want), np.abs(want), 0.0)
    part = np.where(same, 0.0, np.divide(off, allowed, out=np.full_like(off, np.inf), where=allowed > 0))
    return float(off.max(initial=0.0)), float(part.max(initial=0.0))


# ---- arrays: NumPy's in managed memory, with the two methods by which Triton recognises a tensor

_cuda = ctypes.CDLL("libcuda.so.1")
_cuda.cuMemFree_v2.argtypes = [ctypes.c_uint64]


def _managed(size):
    """Bytes that host and kernels share; freed with the last array that uses them."""
    address = ctypes.c_uint64()
    triton.runtime.driver.active.get_current_device()  # creates a context
    result = _cuda.cuMemAllocManaged(ctypes.byref(address), ctypes.c_size_t(max(size, 1)), 1)  # CU_MEM_ATTACH_GLOBAL
    if result != 0:
        raise MemoryError(f"cuMemAllocManaged of {size} bytes gave {result}")
    memory = (ctypes.c_uint8 * size).from_address(address.value)
    weakref.finalize(memory, _cuda.cuMemFree_v2, address.value)
    return np.frombuffer(memory, dtype=np.uint8)


class Array(np.ndarray):
    def data_ptr(self):
        return self.ctypes.data

    def stride(self):
        return tuple(step // self.itemsize for step in self.strides)


def empty(shape, dtype=np.float32):
    """Memory filled with a pattern that no result looks like."""
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    room = _managed(size)
    room[...] = 0xA5
    return room.view(dtype).reshape(shape).view(Array)


def array(values, dtype=None):
    values = np.asarray(values)
    made = empty(values.shape, dtype or values.dtype)
    made[...] = values.astype(made.dtype)
    return made


def zeros(shape, dtype=np.float32):
    return full(shape, 0, dtype)


def full(shape, value, dtype=np.float32):
    made = empty(shape, dtype)
    made[...] = np.asarray(value).astype(made.dtype)
    return made


# One generator for each program, reseeded before it, so a program's numbers do not depend on other programs.
_random = np.random.default_rng(0)


def seed(number):
    global _random
    _random = np.random.default_rng(number)


def normal(*shape, dtype=np.float32, scale=1.0):
    return array(_random.standard_normal(shape) * scale, dtype)


def uniform(*shape, low=0.0, high=1.0, dtype=np.float32):
    return array(_random.uniform(low, high, shape), dtype)


def integers(low, high, *shape, dtype=np.int32):
    """Integers from low to high, high not included."""
    return array(_random.integers(low, high, shape), dtype)


def permutation(count, dtype=np.int32):
    return array(_random.permutation(count), dtype)


def f64(values):
    return np.asarray(values).astype(np.float64)


# ---- the chip


def processors():
    driver = triton.runtime.driver.active
    return driver.utils.get_device_properties(driver.get_current_device())["multiprocessor_count"]


def lend_scratch():
    """Provides the memory that Triton requests for kernels that make tensor descriptors on the device."""
    triton.set_allocator(lambda size, alignment, stream: empty(size, np.uint8))
