"""Programs sharded over 2, 4 and 8 devices, and compared with the result of one device within their own bounds.

    pytest test/jax/test_random_split.py --programs 2000 --seed 7

Parameters get random shardings on a random mesh, some results too. `distribute-split` makes the program of one device,
and the evaluator runs it on all devices at once, including its collectives. The reference is the whole program on one
device. Sums over sharded dimensions have another order, which the bounds of a value allow for (random_programs.py,
agreement.py); exact values stay exact. The summary counts the ops that every device computes whole although an operand
is sharded: if a rule is lost, its op appears there. It also counts the programs that have each kind of op.
"""

import dataclasses
import collections
import random
import re

import agreement
import artifacts
import catalog
import conftest
import dividing
import jax
import numpy as np
import pytest
import random_chains
import random_other_kinds
import random_programs
import random_sharded_rules
from jax import export
from test_random_programs import disagreement

SIZES = (8, 16, 4, 8, 2, 3, 1)  # most are divisible by the number of shards
# For programs whose class does not allow for partial sums that are rounded to bf16 before they are added: two bf16
# ulps, in f32 ulps.
ROUNDED = {"small_types.mixed_precision_training_step": 2 * 2**16}
RULES = random_sharded_rules.RULES + random_other_kinds.RULES + random_chains.RULES
NOBODY = artifacts.Case("", "", 1, b"", [], [])


def finish(config, what, cases, wrong, collectives, whole, runs):
    count = len(cases)
    kinds = collections.Counter(kind for case in cases for kind in set(re.findall(r"\b(?:stablehlo|chlo)\.\w+", case.text)))
    config.stash[conftest.SUMMARY] = config.stash.get(conftest.SUMMARY, []) + [
        f"{what}: {count} programs on 2, 4 and 8 devices, {len(wrong)} of {runs} disagree; {dict(collectives)}",
        f"{what}: ops with a sharded operand that every device computes whole: {dict(whole.most_common()) or 'none'}",
        f"{what}: programs with each of {len(kinds)} kinds of ops: {dict(kinds.most_common())}",
    ]
    assert collectives["all_reduce"] and collectives["all_gather"]
    if wrong:
        pytest.fail(f"{what}: {len(wrong)} disagree, the shortest is\n{min(wrong, key=len)}")


def test_random_programs_in_pieces(tmp_path, pytestconfig):
    seed, count = pytestconfig.getoption("--seed"), pytestconfig.getoption("--programs")
    programs, cases = {}, []
    for i in range(count):
        rng = random.Random(f"{seed}/{i}")
        program = random_programs.seeded_program(f"split/{seed}/{i}", SIZES, RULES)
        function = program.function()
        # The last value depends on most others; these are used only inside the program, so that they may be sharded.
        last = len(program.lines) - 1
        kept = sorted([*rng.sample(range(last), min(last, rng.randint(0, 2))), last])
        program = dataclasses.replace(program, outputs=tuple(program.outputs[k] for k in kept))
        with jax.enable_x64(True):
            arguments = program.arguments()
            jitted = jax.jit(lambda *a, f=function, kept=kept: [f(*a)[k] for k in kept], keep_unused=True)
            exported = export.export(jitted, platforms=["cpu"])(*arguments)
        outputs = [(spec.shape, dividing.dtype_of(spec.dtype)) for spec in program.outputs]
        cases.append(dividing.Case(f"p{i}", exported.mlir_module_serialized, arguments, outputs, tmp_path, rng))
        programs[f"p{i}"] = program

    def judge(case, device, got, wanted):
        program = programs[case.name]
        word = disagreement(
            program, dataclasses.replace(NOBODY, expected=wanted), got, "one device", f"device {device}"
        )
        return word and f"{program.source()}{word}"

    finish(pytestconfig, f"seed {seed}", cases, *dividing.compare(cases, tmp_path, judge))


def test_programs_of_the_catalog_in_pieces(tmp_path, pytestconfig):
    """Every twelfth program with every change; all of them with --programs 1000."""
    step = 1 if pytestconfig.getoption("--programs") >= 1000 else 12
    cases, bounds = [], {}
    for program in list(catalog.load().values())[::step]:
        symbolic = [i.symbolic for i in jax.tree.leaves(program.inputs, is_leaf=lambda i: isinstance(i, catalog.Input))]
        if program.ranks != 1 or any(symbolic):
            continue
        made = artifacts.make(program)
        outputs = [(array.shape, array.dtype) for array in made.expected]
        rng = random.Random(program.name)
        cases.append(dividing.Case(program.name, made.artifact, made.inputs, outputs, tmp_path, rng))
        bounds[program.name] = agreement.CLASSES[program.op_class]

    def judge(case, device, got, wanted):
        bound = bounds[case.name]
        for index, (actual, expected) in enumerate(zip(got, wanted)):
            distance = agreement.distance(actual, expected, bound.of)
            allowed = ROUNDED.get(case.name, bound.ulps)
            if not distance <= allowed:
                return f"output {index} of device {device} is {distance:.4g} ulps away, {allowed} are allowed"
        return None

    finish(pytestconfig, "catalog", cases, *dividing.compare(cases, tmp_path, judge))
