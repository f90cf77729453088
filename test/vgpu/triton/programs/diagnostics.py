"""device_print and device_assert: messages of a kernel for the user."""

import triton
import triton.language as tl

from .harness import array


@triton.jit
def print_kernel(x, BLOCK: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.device_print("square: ", v * v)


def print_numbers():
    """Prints squares, one number for each lane of three blocks; returns the lines that are expected, in any order."""
    values = [7 * i for i in range(95)] + [60000]  # the last overflows
    print_kernel[(3,)](array(values, "int32"), BLOCK=32, num_warps=1)
    lines = []
    for i, value in enumerate(values):
        square = (value * value + 2**31) % 2**32 - 2**31
        lines.append(f"pid ({i // 32}, 0, 0) idx ({i % 32:2}) square: {square}")
    return lines


@triton.jit(debug=True)
def range_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.device_assert(v < 10, "a number is not below ten")


def check_range(values):
    x = array(values, "int32")
    range_kernel[(1,)](x, len(values), BLOCK=32, num_warps=1)
