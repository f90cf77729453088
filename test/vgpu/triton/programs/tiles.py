"""Loads and stores of a tile of a row-major matrix that may end inside the tile."""

import triton
import triton.language as tl


@triton.jit
def load_tile(base, rows, columns, row_count, column_count):
    inside = (rows < row_count)[:, None] & (columns < column_count)[None, :]
    return tl.load(base + rows[:, None] * column_count + columns[None, :], mask=inside, other=0.0)


@triton.jit
def store_tile(base, values, rows, columns, row_count, column_count):
    inside = (rows < row_count)[:, None] & (columns < column_count)[None, :]
    place = rows[:, None] * column_count + columns[None, :]
    tl.store(base + place, values.to(base.dtype.element_ty), mask=inside)
