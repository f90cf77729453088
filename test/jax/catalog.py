"""The list of JAX programs, and how one is declared.

    @program("reduction", normal(4, 5))
    def mean_of_rows(x):
        return x.mean(axis=1)

A program is a function, its inputs and its op class, which decides how far our
result may be from jaxlib's (see agreement.py). Inputs are drawn from a
generator that is seeded with the program's name, so a program sees the same
numbers wherever and in whatever company it runs.
"""

import dataclasses
import importlib
import pathlib
import pkgutil
import zlib
from collections.abc import Callable

import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Input:
    """One array argument: `draw(rng)` gives float64 or int64 values, which are then cast to `dtype`."""

    draw: Callable[[np.random.Generator], np.ndarray]
    dtype: np.dtype
    # For programs over unknown sizes, as jax.export spells them: "b, 3".
    symbolic: str | None = None

    def of_shape(self, symbolic):
        return dataclasses.replace(self, symbolic=symbolic)


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    function: Callable
    inputs: tuple
    op_class: str
    x64: bool  # whether jax may use 64-bit types
    platform: str  # whose lowering is exported; the reference is always jaxlib on the CPU
    ranks: int

    def arguments(self):
        """The arguments, a tree of numpy arrays."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return jax.tree.map(lambda i: i.draw(rng).astype(i.dtype), self.inputs, is_leaf=lambda i: isinstance(i, Input))


PROGRAMS: dict[str, Program] = {}


def program(op_class, *inputs, x64=False, platform="cpu", ranks=1):
    """Declares the decorated function as a program; its name is subject.function."""

    def declare(function):
        name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        assert name not in PROGRAMS, f"two programs are called {name}"
        PROGRAMS[name] = Program(name, function, inputs, op_class, x64, platform, ranks)
        return function

    return declare


def load():
    """Imports every file of programs/ and returns the list, by name."""
    for module in pkgutil.iter_modules([str(pathlib.Path(__file__).parent / "programs")]):
        importlib.import_module(f"programs.{module.name}")
    return PROGRAMS


def _dtype(dtype):
    return np.dtype(dtype)


def normal(*shape, dtype=np.float32, scale=1.0):
    return Input(lambda rng: np.asarray(rng.normal(size=shape) * scale), _dtype(dtype))


def uniform(*shape, low=0.0, high=1.0, dtype=np.float32):
    return Input(lambda rng: np.asarray(rng.uniform(low, high, size=shape)), _dtype(dtype))


def integers(*shape, low=-100, high=100, dtype=np.int32):
    """Integers from low to high, high not included."""
    return Input(lambda rng: np.asarray(rng.integers(low, high, size=shape)), _dtype(dtype))


def booleans(*shape):
    return Input(lambda rng: rng.integers(0, 2, size=shape) != 0, _dtype(np.bool_))


def permutation(count, dtype=np.int32):
    return Input(lambda rng: rng.permutation(count), _dtype(dtype))


def values(*numbers, dtype=np.float32):
    return Input(lambda rng: np.array(numbers), _dtype(dtype))


def complex_normal(*shape, dtype=np.complex64):
    return Input(lambda rng: np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape)), _dtype(dtype))


def key(words=2):
    """A raw random key: two words for threefry, four for rbg."""
    return Input(lambda rng: rng.integers(0, 2**32, size=(words,)), _dtype(np.uint32))


def key_bits(*shape, bits=32):
    """Any bit pattern, as unsigned integers."""
    return Input(lambda rng: rng.integers(0, 2**bits, size=shape, dtype=np.uint64), _dtype(f"uint{bits}"))


def positive_definite(*shape, dtype=np.float32):
    """A matrix (or a batch of them) with eigenvalues from 1 up."""

    def draw(rng):
        a = rng.normal(size=shape)
        return a @ np.swapaxes(a, -1, -2) / shape[-1] + np.eye(shape[-1])

    return Input(draw, _dtype(dtype))


def triangular(size, dtype=np.float32, lower=True):
    """Well conditioned: ones and more on the diagonal, small numbers off it."""

    def draw(rng):
        a = rng.normal(size=(size, size)) * 0.3
        return (np.tril if lower else np.triu)(a, -1 if lower else 1) + np.diag(rng.uniform(1, 2, size=size))

    return Input(draw, _dtype(dtype))
