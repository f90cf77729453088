"""Every JAX program of programs/: exported, read, evaluated, and compared with jaxlib's result.

pytest test/jax/test_programs.py -k 'sorting'         some of them
pytest test/jax/test_programs.py --shard 1/2          every second one, as CTest runs them
"""

import collections

import agreement
import artifacts
import catalog
import conftest
import evaluator
import numpy as np
import pytest

PROGRAMS = catalog.load()


def test_there_are_enough_programs_of_every_class():
    assert len(PROGRAMS) >= 150
    assert {p.op_class for p in PROGRAMS.values()} == set(agreement.CLASSES)


@pytest.fixture(scope="session")
def answers(request, tmp_path_factory):
    """{name: (case, outputs)} of all selected programs, from one run of the evaluator."""
    selected = [item for item in request.session.items if item.function is test_agrees_with_jaxlib]
    names = [item.callspec.params["name"] for item in selected]
    cases = [artifacts.make(PROGRAMS[name]) for name in names]
    outputs = evaluator.evaluate(cases, tmp_path_factory.mktemp("jax"))
    request.config.stash[conftest.SUMMARY] = list(table(cases, outputs))
    return {case.name: (case, outputs[case.name]) for case in cases}


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_jaxlib(answers, name):
    case, outputs = answers[name]
    assert isinstance(outputs, list), f"evaluation failed: {outputs}"
    assert finite_share([case]) >= 0.9, "most outputs are NaN or infinite; such a program shows little"
    bound = agreement.CLASSES[case.op_class]
    for index, (actual, expected) in enumerate(zip(outputs, case.expected)):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), f"output {index}"
        distance = agreement.distance(actual, expected, bound.of)
        assert distance <= bound.ulps, (
            f"output {index} is {distance:.4g} ulps of the {bound.of} away, {case.op_class} allows {bound.ulps}\n"
            f"ours:   {actual}\njaxlib: {expected}"
        )


def finite_share(cases):
    outputs = [array for case in cases for array in case.expected if array.size]
    total = sum(array.size for array in outputs)
    return sum(agreement.finite_count(array) for array in outputs) / total if total else 1.0


def table(cases, outputs):
    """The largest distance of each class beside the tolerance, as lines."""
    worst = collections.defaultdict(lambda: (0.0, ""))
    for case in cases:
        of = agreement.CLASSES[case.op_class].of
        if isinstance(outputs[case.name], list):
            distance = max((agreement.distance(a, e, of) for a, e in zip(outputs[case.name], case.expected)), default=0)
            worst[case.op_class] = max(worst[case.op_class], (distance, case.name))
    total = sum(np.size(array) for case in cases for array in case.expected)
    yield f"{len(cases)} programs, {finite_share(cases):.2%} of {total} outputs finite; largest distances:"
    for name, bound in agreement.CLASSES.items():
        distance, program = worst[name]
        yield f"{name:14} {distance:6.2f} of {bound.ulps:2g} ulps of the {bound.of:8} {program}"
