"""Random programs, compiled for the CPU and compared with the evaluator's results within their own bounds.

    pytest test/jax/test_random_compiled.py --programs 10000 --seed 7

Inputs are read from files, so that no value is known at compile time. Each program is compiled twice, with the default
options and without folding. jax writes the programs and runs none of them. The bound of a value follows from the
program (random_programs.py): a few ulps for each operation, by its class (random_rules.py). Integers, booleans,
and operations that only move, compare or round elements must be equal.
"""

import collections
import concurrent.futures
import multiprocessing
import os
import re
import time

import artifacts
import conftest
import evaluator
import jax
import ml_dtypes
import numpy as np
import random_programs
from jax import export
from test_random_programs import disagreement

WAYS = {"default": ["--on=cpu"], "nothing folded": ["--on=cpu", "--simplify.max-fold-elements=0"]}
CHUNK = 50


def make_case(program, name):
    with jax.enable_x64(True):
        arguments = program.arguments()
        exported = export.export(jax.jit(program.function(), keep_unused=True), platforms=["cpu"])(*arguments)
    like = [np.zeros(spec.shape, _dtype(spec.dtype)) for spec in program.outputs]
    return artifacts.Case(name, "random", 1, exported.mlir_module_serialized, arguments, like)


def _dtype(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def compare(job):
    """Runs programs [first, last) of a seed in a folder; returns the number of operations and descriptions of disagreements."""
    folder, seed, first, last = job
    folder.mkdir()
    programs = [random_programs.seeded_program(f"{seed}/{i}") for i in range(first, last)]
    cases = [make_case(program, f"p{i}") for i, program in zip(range(first, last), programs)]
    operations = collections.Counter(
        re.match(r"v[0-9]+ = (?:v[0-9]+)?\W*([a-zA-Z_.0-9]+)", line)[1] for program in programs for line in program.lines
    )
    wrong = []
    answers = evaluator.evaluate(cases, folder)
    for way, options in WAYS.items():
        for output in folder.glob("*.out*"):
            output.unlink()
        compiled = evaluator.evaluate(cases, folder, *options)
        for case, program in zip(cases, programs):
            case.expected = answers[case.name]
            words = (
                f"evaluation failed: {case.expected}"
                if isinstance(case.expected, str)
                else disagreement(program, case, compiled[case.name], "evaluated", "compiled")
            )
            if words:
                wrong.append(describe(program, case, way, words))
            case.expected = [np.zeros(spec.shape, _dtype(spec.dtype)) for spec in program.outputs]
    for file in folder.iterdir():
        file.unlink()
    return operations, wrong


def describe(program, case, way, words):
    name = re.match(r"v[0-9]+", words)
    body = "\n".join(program.needed(name[0]) if name else program.lines)
    types = ", ".join(f"v{i}: {s.dtype}{list(s.shape)}" for i, s in enumerate(program.inputs))
    return f"{case.name}, {way}: {words}\n{types}\n{body}"


def test_compiled_programs_agree_with_the_evaluator(tmp_path, pytestconfig):
    seed, count = pytestconfig.getoption("--seed"), pytestconfig.getoption("--programs")
    began = time.monotonic()
    jobs = [(tmp_path / str(at), seed, at, min(at + CHUNK, count)) for at in range(0, count, CHUNK)]
    operations, wrong = collections.Counter(), []
    # Spawned, not forked: jax has threads.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(len(jobs), os.cpu_count()), context) as pool:
        for made, words in pool.map(compare, jobs):
            operations.update(made)
            wrong += words
    pytestconfig.stash[conftest.SUMMARY] = [
        f"seed {seed}: {count} programs of {operations.total()} operations ({len(operations)} kinds), compiled "
        f"{len(WAYS)} times each, {len(wrong)} disagree, {time.monotonic() - began:.0f} s"
    ]
    assert not wrong, f"seed {seed}: {len(wrong)} disagree\n\n" + "\n\n".join(wrong[:20])


def test_lines_that_a_value_needs():
    program = random_programs.Program(
        (random_programs.Spec("float32", (3,)),),
        ("v1 = lax.neg(v0)", "v2 = jnp.sin(v0)", "v3 = lax.add(v1, v1)", "v4 = lax.mul(v2, v3)"),
        (),
    )
    assert program.needed("v3") == ["v1 = lax.neg(v0)", "v3 = lax.add(v1, v1)"]
