"""A Triton kernel with a bug that a GPU shows once in a while: it smooths in place.

python smooth.py         in place: blocks read what their neighbours may have written
python smooth.py copied  into another array
"""

import ctypes
import sys

import numpy
import triton
import triton.language as tl


class Tensor(numpy.ndarray):
    """NumPy's array with the method by which Triton knows a tensor."""

    def data_ptr(self):
        return self.ctypes.data


@triton.jit
def smooth(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    here = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, (left + here) / 2, mask=i < n)


cuda = ctypes.CDLL("libcuda.so.1")


def tensor(values):
    """A copy in managed memory, which Python and the GPU share."""
    address = ctypes.c_uint64()
    triton.runtime.driver.active.get_current_device()  # makes a context
    assert cuda.cuMemAllocManaged(ctypes.byref(address), ctypes.c_size_t(values.nbytes), 1) == 0
    memory = (ctypes.c_uint8 * values.nbytes).from_address(address.value)
    copy = numpy.frombuffer(memory, values.dtype).reshape(values.shape).view(Tensor)
    copy[...] = values
    return copy


values = numpy.arange(1000, dtype=numpy.float32)
x = tensor(values)
y = tensor(values) if "copied" in sys.argv else x
smooth[(4,)](x, y, 1000, BLOCK=256)
expected = (values + numpy.concatenate(([0], values[:-1]))) / 2
print("largest error:", abs(y - expected).max())
