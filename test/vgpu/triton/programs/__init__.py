"""Triton programs written for this repository, by subject. Importing the package registers them all."""

from . import (
    atomics, attention, control, descriptors, diagnostics, gluon_kernels, matmul, normalization, pointwise, reductions,
    scans, shapes,
)  # fmt: skip
from .harness import PROGRAMS, differences, lend_scratch, seed

__all__ = [
    "PROGRAMS", "atomics", "attention", "control", "descriptors", "diagnostics", "differences", "gluon_kernels",
    "lend_scratch", "matmul", "normalization", "pointwise", "reductions", "scans", "seed", "shapes",
]  # fmt: skip
