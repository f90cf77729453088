"""Sampled candidates of matrix products: tile, cluster, stages, warps and persistence are set by a hint, as users do.

    pytest -s test/gpu/test_candidates.py --candidates 500 --first 1000

Each candidate computes the right numbers with every check of the virtual GPU on, or is refused with a reason. The figures by which the compiler
ranks candidates (`tilewright explain kernels`) are those that the virtual GPU counts.
"""

import collections
import dataclasses
import json
import random
import re

import ml_dtypes  # noqa: F401 (names its types for NumPy)
import numpy as np
import pytest
import test_quality

CHIPS = ("sm_80", "sm_90a", "sm_100a")
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f32": np.float32}


@dataclasses.dataclass(frozen=True)
class Candidate:
    number: int
    chip: str
    element: str
    result: str
    m: int
    n: int
    k: int
    isTransposed: bool  # the right operand is n x k in memory
    hint: str

    @staticmethod
    def draw(number):
        draw = random.Random(number)
        chip = draw.choice(CHIPS)
        element = draw.choice(["f16", "f16", "bf16", "f32"] if chip == "sm_80" else ["f16", "bf16", "f8E4M3FN", "f32"])
        result = draw.choice(["f32", "f32" if element == "f8E4M3FN" else element])
        # Products of a few tiles, some of them with a part beyond the edge.
        step = 16 if element == "f8E4M3FN" else 8
        m, n = (draw.choice([64, 128, 256, 384, draw.randrange(1, 40) * step]) for _ in range(2))
        k = draw.choice([128, 256, 512, draw.randrange(1, 64) * step])
        rows = {"sm_80": [16, 32, 64, 128, 256], "sm_90a": [64, 128, 256], "sm_100a": [64, 128]}[chip]
        columns = [16, 32, 64, 128, 256] if chip == "sm_80" else [16, 32, 64, 96, 128, 192, 256]
        items = [f"tile={draw.choice(rows)}x{draw.choice(columns)}"]
        if chip != "sm_80" and draw.random() < 0.5:
            items.append(f"cluster={draw.choice(['1x1', '2x1', '1x2'] if chip == 'sm_90a' else ['1x1', '2x1'])}")
        if draw.random() < 0.6:
            items.append(f"stages={draw.randrange(2, 6)}")
        if chip == "sm_80" and draw.random() < 0.5:
            items.append(f"warps={draw.choice([1, 2, 4, 4, 8, 8, 16])}")
        if chip != "sm_80" and draw.random() < 0.5:
            items.append(f"persistent={draw.choice(['true', 'false'])}")
        return Candidate(number, chip, element, result, m, n, k, draw.random() < 0.7, " ".join(items))

    def program(self):
        right = (self.n, self.k) if self.isTransposed else (self.k, self.n)
        a, b, c = (f"tensor<{x}x{y}x{t}>" for x, y, t in ((self.m, self.k, self.element), (*right, self.element), (self.m, self.n, self.result)))
        return (f"func.func @main(%a: {a}, %b: {b}) -> {c} {{\n  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [{int(self.isTransposed)}] "
                f'{{mhlo.frontend_attributes = {{tilewright = "{self.hint}"}}}} : ({a}, {b}) -> {c}\n  return %d : {c}\n}}\n')  # fmt: skip

    def operands(self):
        """Small integers: every order of summation has the same result, without rounding before the last."""
        draw = np.random.default_rng(self.number)
        right = (self.n, self.k) if self.isTransposed else (self.k, self.n)
        return [draw.integers(-2, 3, shape).astype(TYPES[self.element]) for shape in ((self.m, self.k), right)]

    def expected(self):
        a, b = (operand.astype(np.float64) for operand in self.operands())
        return (a @ (b.T if self.isTransposed else b)).astype(TYPES[self.result])


def run(candidate, folder):
    """How the kernel of a candidate is predicted, and how it is counted; or why the hint was refused."""
    path = folder / "program.mlir"
    path.write_text(candidate.program())
    for name, operand in zip("ab", candidate.operands()):
        np.save(folder / f"{name}.npy", operand)
    # Few multiprocessors, so that persistent kernels have several tiles to compute.
    options = [f"--target=vgpu:{candidate.chip}", "--compile.processors=4"]
    arguments = ["run", path, f"--input={folder}/a.npy", f"--input={folder}/b.npy", f"--output={folder}/result", *options]
    checked = test_quality.tool(*arguments, TILEWRIGHT_VGPU_CHECK="all", TILEWRIGHT_VGPU_ORDER=f"seed:{candidate.number}")
    found, expected = np.load(folder / "result0.npy"), candidate.expected()
    found = found.view(expected.dtype) if found.dtype.kind == "V" else found
    assert found.dtype == expected.dtype and np.array_equal(found.astype(np.float64), expected.astype(np.float64)), (candidate, checked)
    refused = re.search(r"hint '.*' is refused: (.*)", checked)
    if refused:
        return None, None, refused[1]
    said = test_quality.tool("explain", "kernels", path, f"--target={candidate.chip}", options[1])
    test_quality.tool(*arguments, TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_COUNTS=str(folder / "counts"), TILEWRIGHT_VGPU_THREADS="1")
    reports = [json.loads(file.read_text()) for file in (folder / "counts").glob("*.counts.json")]
    (report,) = [report for report in reports if report["total"]["multiply_adds"]]
    return said, report, None


def number(pattern, said):
    found = re.search(pattern, said)
    assert found, f"'{pattern}' is not in\n{said}"
    return int(found[1].replace(",", ""))


def compare(candidate, said, report):
    """Predicted beside counted, by name."""
    total = report["total"]
    predicted = [number(rf"([\d,]+) {name}", said) for name in ("multiply-adds", "bytes of operands loaded", "bytes stored")]
    # Copies by the engine, in both directions, count as asynchronous.
    moved = sum(total[f"{kind}_bytes"] for kind in ("async_global", "global_read", "global_write"))
    return {"multiply-adds": (predicted[0], sum(total["multiply_adds"].values())), "bytes of global memory": (predicted[1] + predicted[2], moved)}


def test_candidates(request, tmp_path):
    first, count = request.config.getoption("--first"), request.config.getoption("--candidates")
    refusals, worst, followed, conflicts, wrong = *(collections.Counter() for _ in range(4)), []
    for index in range(first, first + count):
        candidate = Candidate.draw(index)
        folder = tmp_path / str(index)
        folder.mkdir()
        said, report, refused = run(candidate, folder)
        if refused:
            refusals[re.sub(r"[\d,]+", "N", refused)] += 1
            continue
        followed[candidate.chip] += 1
        # On sm_80, some epilogues exchange their elements with conflicts; operands are read without.
        conflicts[candidate.chip] += report["total"]["bank_conflicts"]
        if report["total"]["bank_conflicts"] and candidate.chip != "sm_80":
            wrong.append(f"{candidate}: {report['total']['bank_conflicts']} bank conflicts of {report['total']['shared_wavefronts']} wavefronts")
        for name, (predicted, counted) in compare(candidate, said, report).items():
            worst[name] = max(worst[name], abs(predicted / counted - 1))
            if abs(predicted - counted) > 0.02 * counted:
                wrong.append(f"{candidate}: {predicted} {name} predicted, {counted} counted")
    print(f"{dict(followed)} candidates are right and as predicted, at most {dict(worst)} apart; bank conflicts {dict(conflicts)}; refused:")
    for reason, times in refusals.most_common():
        print(f"  {times} {reason}")
    assert not wrong, "\n".join(wrong)
    assert sum(followed.values()) >= count / 3


def test_a_hint_from_jax(tmp_path):
    """JAX writes the metadata of a scope to each of its ops; the gradients' products have none."""
    jax = pytest.importorskip("jax")
    metadata = pytest.importorskip("jax.experimental.xla_metadata")

    def loss(x, w):
        with metadata.set_xla_metadata(tilewright="tile=64x128, stages=3"):
            return jax.numpy.tanh(x @ w)

    x = jax.ShapeDtypeStruct((512, 512), jax.numpy.float16)
    path = tmp_path / "program.mlir"
    path.write_text(jax.jit(loss).lower(x, x).as_text())
    said = test_quality.tool("explain", "kernels", path, "--target=sm_90a")
    assert "operands has 3 slots" in said and number(r"([\d,]+) tiles on", said) == 8 * 4, said
    assert "refused" not in said and "not used" not in said, said

    # A hint that cannot be followed is reported, also where no kernel could have a tile.
    path.write_text(path.read_text().replace("tile=64x128", "tile=60x128"))
    assert "hint 'tile=60x128 stages=3' is refused: tiles of this product have" in test_quality.tool("compile", path, f"--output={tmp_path}/x", "--target=sm_90a")
    assert "hint 'tile=60x128 stages=3' is not used" in test_quality.tool("compile", path, f"--output={tmp_path}/x", "--target=x86-64-v4")
    path.write_text(path.read_text().replace("tile=60x128", "tyle=60x128"))
    with pytest.raises(AssertionError, match="'tyle=60x128' is not a property of a product"):
        test_quality.tool("compile", path, f"--output={tmp_path}/x", "--target=sm_90a")
