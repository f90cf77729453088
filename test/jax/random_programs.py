"""Random programs that are well typed and whose error is known beforehand.

A program is a list of assignments, `v3 = lax.add(v0, v2)`. While it is drawn,
each value carries its type, its shape, an interval that holds all its elements,
and a bound on how far two correct implementations may be apart. The intervals
keep every function inside its domain and every result finite; the bounds
follow from them by first-order error analysis, and they are what the test
compares with. Where an error of any size would change the answer (floor,
comparison, conversion to integers, the order of indices) only exact values are
taken.

The rules, one an operation, are in random_rules.py.
"""

import dataclasses
import random
import re

import hypothesis.strategies as st
import jax
import ml_dtypes
import numpy as np
from jax import lax
from jax import numpy as jnp

FLOATS = ("float32", "float32", "float64", "bfloat16", "float16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
# Elements and magnitudes stay small enough for thousands of programs in a minute.
MAX_ELEMENTS = 512
MAX_MAGNITUDE = {"float16": 500.0, "bfloat16": 5e3, "float32": 1e4, "float64": 1e4, "complex64": 1e4}


@dataclasses.dataclass(frozen=True)
class Spec:
    """What is known about a value: every element is in [low, high], and two implementations differ by at most `error`."""

    dtype: str
    shape: tuple
    low: float = -np.inf
    high: float = np.inf
    error: float = 0.0

    @property
    def kind(self):
        if self.dtype == "bool":
            return "bool"
        return "int" if "int" in self.dtype else "complex" if "complex" in self.dtype else "float"

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def magnitude(self):
        return max(abs(self.low), abs(self.high))

    @property
    def exact(self):
        return self.error == 0.0

    @property
    def epsilon(self):
        return float(ml_dtypes.finfo("float32" if self.dtype == "complex64" else self.dtype).eps)

    def with_shape(self, shape):
        return dataclasses.replace(self, shape=tuple(shape))


@dataclasses.dataclass(frozen=True)
class Program:
    inputs: tuple[Spec, ...]
    lines: tuple[str, ...]
    outputs: tuple[Spec, ...]

    def source(self):
        """The program as Python source."""
        names = ", ".join(f"v{i}" for i in range(len(self.inputs)))
        types = ", ".join(f"{s.dtype}{list(s.shape)}" for s in self.inputs)
        results = ", ".join(f"v{len(self.inputs) + i}" for i in range(len(self.outputs)))
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def program({names}):  # {types}\n{body}    return ({results},)\n"

    def function(self):
        scope = {"jax": jax, "jnp": jnp, "lax": lax}
        exec(self.source(), scope)
        return scope["program"]

    def needed(self, name):
        """The lines that value `name` depends on, including its own."""
        wanted, lines = {name}, []
        for line in reversed(self.lines):
            value, expression = line.split(" = ", 1)
            if value in wanted:
                lines.append(line)
                wanted.update(re.findall(r"\bv[0-9]+\b", expression))
        return lines[::-1]

    def arguments(self):
        rng = np.random.default_rng(len(self.lines))
        return [_draw_input(rng, spec) for spec in self.inputs]

    def __repr__(self):
        return self.source()


def _draw_input(rng, spec):
    if spec.kind == "bool":
        return rng.integers(0, 2, size=spec.shape) != 0
    if spec.kind == "int":
        return rng.integers(int(spec.low), int(spec.high), size=spec.shape, endpoint=True, dtype=spec.dtype)
    # Multiples of 1/8: exact in every float type here, so that ties occur.
    steps = rng.integers(int(spec.low * 8), int(spec.high * 8), size=spec.shape, endpoint=True)
    return np.asarray(steps / 8).astype(ml_dtypes.finfo(spec.dtype).dtype)


class Builder:
    """The values so far. A rule picks operands from them and describes its result."""

    def __init__(self, draw, inputs):
        self.draw = draw
        self.values = list(inputs)
        self.lines = []

    def choose(self, options):
        return self.draw(st.sampled_from(list(options)))

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def pick(self, wanted=lambda spec: True):
        """A (name, spec) whose spec satisfies `wanted`, or None."""
        candidates = [i for i, spec in enumerate(self.values) if wanted(spec)]
        if not candidates:
            return None
        # The newest first, so that shrinking leads to short chains.
        index = self.choose(reversed(candidates))
        return f"v{index}", self.values[index]

    def like(self, spec, wanted=lambda spec: True):
        """Another value of the same type and shape."""
        return self.pick(lambda other: (other.dtype, other.shape) == (spec.dtype, spec.shape) and wanted(other))

    def add(self, expression, spec):
        """Accepts a rule's result, unless it is too large or too inexact to be useful."""
        if spec.size > MAX_ELEMENTS or not np.isfinite(spec.error):
            return
        if spec.kind in ("float", "complex"):
            if not spec.magnitude <= MAX_MAGNITUDE.get(spec.dtype, 400.0):
                return
            if spec.error > 0.05 * max(spec.magnitude, 1.0):
                return
        self.lines.append(f"v{len(self.values)} = {expression}")
        self.values.append(spec)


@st.composite
def input_specs(draw, shapes):
    dtype = draw(st.sampled_from((*FLOATS, *FLOATS, *SIGNED, *UNSIGNED, "bool")))
    shape = draw(st.sampled_from(shapes))
    if dtype == "bool":
        return Spec(dtype, shape, 0, 1)
    if "int" in dtype:
        info = np.iinfo(dtype)
        if draw(st.booleans()):
            return Spec(dtype, shape, max(info.min, -6), 6)
        return Spec(dtype, shape, info.min, info.max)
    low, high = draw(st.sampled_from([(-2.0, 2.0), (-4.0, 4.0), (0.25, 3.0), (-1.0, 1.0), (0.5, 1.5)]))
    return Spec(dtype, shape, low, high)


@st.composite
def programs(draw):
    """Any program: a few inputs that share shapes, then five to twelve operations."""
    from random_rules import RULES

    dims = st.sampled_from((3, 2, 4, 1, 5))
    shape = st.one_of(st.tuples(dims, dims), st.tuples(dims, dims, dims), st.tuples(dims), st.just(()))
    shapes = draw(st.lists(shape, min_size=1, max_size=2))
    # Inputs of equal type and shape are what binary operations need.
    first = draw(st.lists(input_specs(shapes), min_size=1, max_size=3))
    inputs = [*first, first[0], *draw(st.lists(input_specs(shapes), max_size=2))]
    builder = Builder(draw, inputs)
    wanted = draw(st.integers(5, 12))
    for turn in range(4 * wanted):
        if len(builder.lines) >= wanted:
            break
        # Hypothesis prefers zero; rotating the list makes zero a different rule each time.
        choice = draw(st.integers(0, len(RULES) - 1))
        made = RULES[(choice + 37 * turn) % len(RULES)](builder)
        if made:
            builder.add(*made)
    outputs = builder.values[len(inputs) :]
    return Program(tuple(inputs), tuple(builder.lines), tuple(outputs))


# --- without hypothesis: twenty times as fast, larger shapes, no shrinking ---


class SeededBuilder(Builder):
    """A builder whose choices are those of a random number generator."""

    def __init__(self, rng, inputs):
        super().__init__(None, inputs)
        self.rng = rng

    def choose(self, options):
        return self.rng.choice(list(options))

    def number(self, low, high):
        return self.rng.randint(low, high)


def _seeded_input(rng, shapes):
    dtype = rng.choice((*FLOATS, *FLOATS, *SIGNED, *UNSIGNED, "bool"))
    shape = rng.choice(shapes)
    if dtype == "bool":
        return Spec(dtype, shape, 0, 1)
    if "int" in dtype:
        info = np.iinfo(dtype)
        if rng.random() < 0.5:
            return Spec(dtype, shape, max(info.min, -6), 6)
        return Spec(dtype, shape, info.min, info.max)
    return Spec(dtype, shape, *rng.choice([(-2.0, 2.0), (-4.0, 4.0), (0.25, 3.0), (-1.0, 1.0), (0.5, 1.5)]))


def _seeded_shape(rng, sizes):
    while True:
        rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 3))
        shape = tuple(rng.choice(sizes) for _ in range(rank))
        if int(np.prod(shape)) <= MAX_ELEMENTS // 2:
            return shape


def seeded_program(seed, sizes=(1, 2, 3, 4, 5, 7, 8, 16, 17, 33), more_rules=()):
    """Program number `seed`: drawn as by `programs`, but also with shapes that fill vectors. Half of its ops come from `more_rules`, if any."""
    from random_rules import RULES

    rng = random.Random(seed)
    while True:
        shapes = [_seeded_shape(rng, sizes) for _ in range(rng.randint(1, 2))]
        first = [_seeded_input(rng, shapes) for _ in range(rng.randint(1, 3))]
        inputs = [*first, first[0], *(_seeded_input(rng, shapes) for _ in range(rng.randint(0, 2)))]
        builder = SeededBuilder(rng, inputs)
        wanted = rng.randint(5, 12)
        for _ in range(4 * wanted):
            if len(builder.lines) >= wanted:
                break
            made = rng.choice(more_rules if more_rules and rng.random() < 0.5 else RULES)(builder)
            if made:
                builder.add(*made)
        if builder.lines:
            return Program(tuple(inputs), tuple(builder.lines), tuple(builder.values[len(inputs) :]))
