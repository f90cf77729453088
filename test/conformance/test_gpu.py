"""Every self-checking artifact is compiled for a GPU and passes there, except those whose data is wrong and those that
gpu-differs.txt names. Without constant folding, so that every op of an artifact is in a kernel. Of what differs, every
element is as near to the evaluator's as the terms of its sum require.

    pytest test/conformance/test_gpu.py -s [--chip sm_80] [--every 20] [--shard 2/4]

prints how many are compiled, run and equal, and a table of the rest.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

DATA = pathlib.Path(os.environ["TILEWRIGHT_CONFORMANCE_DIR"]) / "stablehlo"
TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin/tilewright"
FOLDER = pathlib.Path(__file__).parent

sys.path.insert(0, str(FOLDER.parent / "gpu"))
import bounds  # noqa: E402

# The id with which a check fails; every other error means that the artifact is not compiled or does not run.
CHECK = "E3006"


def listed(file):
    lines = (FOLDER / file).read_text().splitlines()
    return [line.split(":")[0] for line in lines if line and not line.startswith("#")]


def verdicts(printed):
    """For each artifact None, or what it failed with."""
    found = {}
    name = None
    for line in printed.splitlines():
        if begin := re.match(r"(ok|failed) /.*/(.*)\.mlirbc$", line):
            name = begin[2]
            found[name] = None if begin[1] == "ok" else "no reason"
        elif name and found[name] == "no reason":
            found[name] = line
    return found


def table(failed):
    """Reasons without the places that they name, with how many artifacts have each and one of them."""
    reasons = collections.defaultdict(list)
    for name, why in failed.items():
        why = re.sub(r"while compiling.*?: (?=')| at loc\(.*?\) |\d+ of \d+ elements|the first at .*", "", why)
        reasons[why].append(name)
    rows = sorted(reasons.items(), key=lambda row: -len(row[1]))
    return "".join(f"{len(names):5}  {why}  ({names[0]})\n" for why, names in rows)


@pytest.mark.skipif(not DATA.is_dir(), reason="the conformance data is not on this machine")
def test_artifacts_that_judge_themselves(tmp_path, pytestconfig):
    chip = pytestconfig.getoption("chip")
    part, parts = map(int, pytestconfig.getoption("shard").split("/"))
    names = sorted(path.stem for path in DATA.glob("*.mlirbc") if not path.name.startswith("dynamic."))
    names = names[:: pytestconfig.getoption("every")][part - 1 :: parts]
    batch = tmp_path / "list"
    batch.write_text("".join(f"{DATA / name}.mlirbc -> {tmp_path / 'out'}\n" for name in names))
    ended = subprocess.run([TOOL, "run", f"--target=vgpu:{chip}", "--simplify.max-fold-elements=0", f"--batch={batch}"],
                           stdout=subprocess.PIPE, text=True, timeout=3600)
    found = verdicts(ended.stdout)
    assert sorted(found) == sorted(names), ended.stdout[-2000:]

    wrong = set(listed("wrong-data.txt"))
    right = {name: why for name, why in found.items() if name not in wrong}
    failed = {name: why for name, why in right.items() if why}
    ran = [name for name, why in right.items() if not why or why.startswith(CHECK)]
    print(f"\n{chip}: of {len(right)} artifacts with right data {len(ran)} are compiled and run, {len(right) - len(failed)} equal")
    print(table(failed))
    assert sorted(right) == sorted(ran), "not compiled, or not run"
    # An artifact that passes now must leave the list.
    assert sorted(failed) == sorted(set(listed("gpu-differs.txt")) & set(right)), "\n" + table(failed)
    assert all(found[name] for name in wrong & set(names)), "wrong data passes its check"


def loaded(file):
    values = np.load(file)
    if values.dtype == np.dtype("V2"):  # bf16
        return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values


@pytest.mark.skipif(not DATA.is_dir(), reason="the conformance data is not on this machine")
def test_what_differs_is_within_bounds(tmp_path, pytestconfig):
    """Factors of f32 may be rounded to tf32, and sums may be added in any order."""
    names = listed("gpu-differs.txt")
    for what, command in {
        "gpu": [TOOL, "run", f"--target=vgpu:{pytestconfig.getoption('chip')}", "--simplify.max-fold-elements=0", "--batch=LIST"],
        "exact": [TOOL, "run", "--on=evaluator", "--batch=LIST"],
        "within": [bounds.TOOL, "LIST", "tf32"],
    }.items():
        batch = tmp_path / f"{what}.list"
        batch.write_text("".join(f"{DATA / name}.mlirbc -> {tmp_path / name}.{what}\n" for name in names))
        subprocess.run([str(word).replace("LIST", str(batch)) for word in command], capture_output=True, timeout=600)
    wrong, unknown = {}, set()
    for name in names:
        actual, expected = (loaded(tmp_path / f"{name}.{what}0.npy") for what in ("gpu", "exact"))
        within = np.load(tmp_path / f"{name}.within0.bound.npy")
        if not np.all(np.isfinite(within)):
            unknown.add(name)
        if words := bounds.difference(actual, expected, within):
            wrong[name] = words
    assert not wrong
    # There are no bounds for sums of complex numbers, and for scans of another body than a sum.
    assert unknown == {"cumlogsumexp_float16_8_9", "cumsum_complex64_8_9"}


CHECKED = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %sum = stablehlo.add %x, %x : tensor<2xf32>
  %expected = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%sum, %expected) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  %product = stablehlo.multiply %x, %x : tensor<2xf32>
  stablehlo.custom_call @check.expect_close(%product, %sum) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return %product : tensor<2xf32>
}
"""


@pytest.mark.parametrize("values, code, says", [("2,2", 5, "got 4, expected 2"), ("1,2", 5, "1 of 2 elements are not within 3 ulp")])
def test_a_check_that_fails_on_a_gpu(tmp_path, pytestconfig, values, code, says):
    program = tmp_path / "checked.mlir"
    program.write_text(CHECKED)
    ended = subprocess.run([TOOL, "run", f"--target=vgpu:{pytestconfig.getoption('chip')}", program, f"--input=2xf32={values}"],
                           capture_output=True, text=True)
    assert ended.returncode == code and says in ended.stderr, ended.stderr
