"""A Triton kernel with a bug that a GPU shows once in a while: it smooths in place.

python smooth.py         in place: blocks read what their neighbours may have written
python smooth.py copied  into another array
"""

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


values = numpy.arange(1000, dtype=numpy.float32)
x = values.copy().view(Tensor)
y = x.copy() if "copied" in sys.argv else x
smooth[(4,)](x, y, 1000, BLOCK=256)
expected = (values + numpy.concatenate(([0], values[:-1]))) / 2
print("largest error:", abs(y - expected).max())
