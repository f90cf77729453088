"""The example in each op's description parses and verifies.

mlir-tblgen prints the descriptions. An example uses values that it does not
define. The test defines them after it, which is legal in a module's body; their
types are those that MLIR reports for the uses.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"])
GROUPS = sorted((ROOT / "tilewright/dialect/stablehlo/ops").glob("*Ops.td"))
assert GROUPS, "the groups of ops have moved, so no example would be read"

# Functions that examples name.
FUNCTIONS = """
func.func private @erf_impl(tensor<4xf32>) -> tensor<4xf32>
"""


@functools.cache
def llvm(flag):
    program = shutil.which("llvm-config-22")
    assert program, "llvm-config-22 is not on PATH: run tools/setup"
    return subprocess.run([program, flag], check=True, capture_output=True, text=True).stdout.strip()


def examples(group):
    """(op, example) of every op of a group; an op without one has None."""
    command = [f"{llvm('--bindir')}/mlir-tblgen", "-gen-op-doc", "-I", llvm("--includedir"), "-I", ROOT, group]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        op = re.match(r"`(\S+)`", section)[1]
        blocks = re.findall(r"```mlir\n(.*?)```", section, re.DOTALL)
        yield from ((op, block) for block in blocks or [None])


def read(text):
    """The diagnostics of tilewright-opt for `text`; empty if it accepts it."""
    command = [BUILD / "bin/tilewright-opt", "--allow-unregistered-dialect", "-o", os.devnull]
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    assert run.returncode >= 0, run.stderr
    return run.stderr if run.returncode else ""


def missing_values(text, message):
    """{name: type} of the values that `text` does not define. The first guess for every type is i1."""
    lines = text.splitlines()
    undeclared = re.findall(r":(\d+):(\d+): error: use of undeclared SSA value name", message)
    if undeclared:
        return {re.match(r"%\w+", lines[int(line) - 1][int(column) - 1 :])[0]: "i1" for line, column in undeclared}
    wrong_guess = r"definition of SSA value '(%\w+)#0' has type 'i1'.*?previously used here with type '(.*?)'\n"
    return dict(re.findall(wrong_guess, message, re.DOTALL))


def problem(example):
    """The diagnostics for an example, with all values it uses defined; empty if there are none."""
    if example.startswith("stablehlo.return"):
        example = f'"test.region"() ({{\n{example}}}) : () -> ()\n'
    values = {}
    while True:
        made = "".join(f'{name} = "test.make"() : () -> {type}\n' for name, type in values.items())
        message = read(example + made + FUNCTIONS)
        missing = missing_values(example + made, message)
        if not missing:
            return message
        values |= missing


@pytest.mark.parametrize("group", GROUPS, ids=lambda path: path.stem)
def test_examples_of_the_descriptions_verify(group):
    for op, example in examples(group):
        assert example, f"{op} has no example"
        assert op in example or f'"{op}"' in example, f"the example of {op} does not show it"
        assert problem(example) == "", f"the example of {op}:\n{example}"
