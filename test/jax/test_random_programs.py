"""Random programs, exported, read, evaluated, and compared with jaxlib's results within their own bounds.

    pytest test/jax/test_random_programs.py --programs 2000 --seed 7

The seed is printed. All programs go through one run of the evaluator; if one
disagrees, hypothesis shrinks it to the shortest program that does.
"""

import dataclasses

import agreement
import artifacts
import conftest
import evaluator
import hypothesis
import jax
import numpy as np
import pytest
import random_programs
from jax import export

SETTINGS = hypothesis.settings(
    database=None,
    deadline=None,
    phases=[hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)


def draw_programs(count, seed):
    """`count` different programs, the same for the same seed."""
    drawn = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(SETTINGS, max_examples=2 * count)  # some are drawn twice, some are empty
    @hypothesis.given(random_programs.programs())
    def collect(program):
        if program.lines and len(drawn) < count:
            drawn.setdefault(program.source(), program)

    collect()
    assert len(drawn) == count
    return list(drawn.values())


def make_case(program, name):
    with jax.enable_x64(True):
        arguments = program.arguments()
        function = jax.jit(program.function(), keep_unused=True)
        exported = export.export(function, platforms=["cpu"])(*arguments)
        outputs = function(*arguments)
    artifact = exported.mlir_module_serialized
    return artifacts.Case(name, "random", 1, artifact, arguments, [np.asarray(output) for output in outputs])


def disagreement(program, case, outputs, judge="jaxlib", ours="ours"):
    """Describes what is wrong; None if all outputs are within their bounds."""
    if isinstance(outputs, str):
        return f"evaluation failed: {outputs}"
    for index, (spec, actual, expected) in enumerate(zip(program.outputs, outputs, case.expected)):
        name = f"v{len(program.inputs) + index}"
        if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
            return f"{name} is {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
        if agreement.is_exact(expected.dtype) or spec.error == 0:
            if agreement.distance(actual, expected) != 0:
                return f"{name} must be exact\n{ours}: {actual}\n{judge}: {expected}"
        elif expected.size:
            wide = np.complex128 if spec.kind == "complex" else np.float64
            difference = np.abs(actual.astype(wide) - expected.astype(wide)).max()
            if not difference <= spec.error:
                return (
                    f"{name} differs by {difference:.3g}, bound {spec.error:.3g}\n"
                    f"{ours}: {actual}\n{judge}: {expected}"
                )
    return None


def outside(program, case):
    """The first output that violates the generator's interval or bound; None if there is none."""
    for spec, line, array in zip(program.outputs, program.lines, case.expected):
        if (str(array.dtype), array.shape) != (spec.dtype, spec.shape):
            return f"{line}: {array.dtype}{array.shape} is not {spec}"
        values = np.abs(array) if spec.kind == "complex" else array.astype(np.float64)
        slack = spec.error + 0.01 * spec.magnitude
        if values.size and not (spec.low - slack <= values.min() and values.max() <= spec.high + slack):
            return f"{line}: {values.min()} to {values.max()} is not within {spec}"
    return None


def shrink(folder, first):
    """The shortest program hypothesis can find that still disagrees."""

    def disagrees(program):
        if not program.lines:
            return False
        case = make_case(program, "shrunk")
        for old in folder.glob("shrunk*"):
            old.unlink()
        return disagreement(program, case, evaluator.evaluate([case], folder)["shrunk"]) is not None

    try:
        settings = hypothesis.settings(SETTINGS, max_examples=300, phases=list(hypothesis.Phase))
        return hypothesis.find(random_programs.programs(), disagrees, settings=settings)
    except hypothesis.errors.NoSuchExample:
        return first


def test_random_programs_agree(tmp_path, pytestconfig):
    seed, count = pytestconfig.getoption("--seed"), pytestconfig.getoption("--programs")
    programs = draw_programs(count, seed)
    cases = [make_case(program, f"p{i}") for i, program in enumerate(programs)]
    assert [broken for broken in map(outside, programs, cases) if broken] == []
    outputs = evaluator.evaluate(cases, tmp_path)
    words = [disagreement(program, case, outputs[case.name]) for program, case in zip(programs, cases)]

    wrong = [i for i, word in enumerate(words) if word]
    finite = sum(agreement.finite_count(a) for case in cases for a in case.expected)
    total = sum(a.size for case in cases for a in case.expected)
    lines = sum(len(program.lines) for program in programs)
    pytestconfig.stash[conftest.SUMMARY] = [
        f"seed {seed}: {count} programs of {lines} operations, {len(wrong)} disagree; {finite / total:.2%} finite"
    ]
    assert finite >= 0.9 * total
    if wrong:
        first = programs[wrong[0]]
        pytest.fail(f"seed {seed}: the first that disagrees is\n{first.source()}{words[wrong[0]]}\n"
                    f"shrunk:\n{shrink(tmp_path, first).source()}")  # fmt: skip


def test_a_wrong_answer_is_noticed():
    spec = random_programs.Spec("float32", (3,), 0.25, 3.0)
    sine = dataclasses.replace(spec, low=-1.0, high=1.0, error=1e-6)
    program = random_programs.Program((spec,), ("v1 = lax.neg(v0)", "v2 = jnp.sin(v0)"), (spec, sine))
    case = make_case(program, "sine")

    def judged(exact=0.0, inexact=0.0):
        return disagreement(
            program, case, [case.expected[0] + np.float32(exact), case.expected[1] + np.float32(inexact)]
        )

    assert judged() is None
    assert judged(inexact=5e-7) is None
    assert "v2 differs by" in judged(inexact=1e-5)
    assert "v1 must be exact" in judged(exact=1e-6)
    assert "v2 differs by nan" in judged(inexact=np.nan)
    assert "evaluation failed: E3004" in disagreement(program, case, "E3004 …")
