"""Vector addition and softmax in Triton on NumPy arrays; knows nothing of the virtual GPU."""

import ctypes

import numpy as np
import triton
import triton.language as tl


cuda = ctypes.CDLL("libcuda.so.1")


class Pointer:
    """An object that Triton accepts as a tensor: an address and a type. The driver has the memory registered as long as the object lives."""

    def __init__(self, array):
        triton.runtime.driver.active.get_current_device()  # creates a context
        assert cuda.cuMemHostRegister_v2(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 0) == 0
        self.array = array
        self.dtype = {"float32": "fp32"}[str(array.dtype)]

    def __del__(self):
        cuda.cuMemHostUnregister(ctypes.c_void_p(self.array.ctypes.data))

    def data_ptr(self):
        return self.array.ctypes.data


@triton.jit
def add(left, right, result, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count
    tl.store(result + at, tl.load(left + at, mask=inside) + tl.load(right + at, mask=inside), mask=inside)


@triton.jit
def softmax(result, values, columns, block: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < columns
    x = tl.load(values + row * columns + at, mask=inside, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(result + row * columns + at, x / tl.sum(x, axis=0), mask=inside)


def main():
    random = np.random.default_rng(1)
    left, right = random.random((2, 9999), dtype=np.float32)
    total = np.zeros_like(left)
    add[(triton.cdiv(left.size, 1024),)](Pointer(left), Pointer(right), Pointer(total), left.size, block=1024)
    print("add:", "exact" if np.array_equal(total, left + right) else "wrong")

    values = random.standard_normal((77, 781)).astype(np.float32)
    result = np.zeros_like(values)
    softmax[(values.shape[0],)](Pointer(result), Pointer(values), values.shape[1], block=1024)
    expected = np.exp(values - values.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    print("softmax:", "close" if np.abs(result - expected).max() < 1e-7 else "wrong")
    print("target:", triton.runtime.driver.active.get_current_target().arch)


main()
