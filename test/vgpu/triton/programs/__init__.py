"""Triton programs written for this repository, by subject. Importing the package registers them all."""

from . import (
    atomics, attention, control, descriptors, diagnostics, gluon_hopper, gluon_kernels, matmul, matmul_fused, matmul_scaled,
    normalization, pointwise, reductions, scans, shapes,
)  # fmt: skip
from .harness import PROGRAMS, differences, lend_scratch, seed

__all__ = [
    "PROGRAMS", "atomics", "attention", "control", "descriptors", "diagnostics", "differences", "gluon_hopper",
    "gluon_kernels", "lend_scratch", "matmul", "matmul_fused", "matmul_scaled", "normalization", "pointwise", "reductions", "scans",
    "seed", "shapes",
]  # fmt: skip
