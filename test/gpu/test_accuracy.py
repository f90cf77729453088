"""Errors of functions of f32 on virtual NVIDIA GPUs at each level of compile.gpu-accuracy, in ulps, against the bounds in
docs/reference/gpu-accuracy.md; and the machine instructions of a softmax."""

import pathlib
import re

import numpy as np
import pytest
import test_quality
from machine_code import machine_code

PAGE = pathlib.Path(__file__).parents[2] / "docs/reference/gpu-accuracy.md"
LEVELS = ("full", "balanced", "fast")
SMALLEST_NORMAL = 2.0**-126


def bounds():
    """The rows of the page's table: a function's bound in ulps for each level, as (constant, factor of |x|)."""
    rows = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("| \n").split(" | ")]
        if len(cells) == 4 and line.startswith("| `"):
            numbers = [re.fullmatch(r"([\d.]+)(?: \+ ([\d.]+) abs\(x\))?", cell) for cell in cells[1:]]
            rows[cells[0].strip("`")] = dict(zip(LEVELS, [(float(n[1]), float(n[2] or 0)) for n in numbers]))
    return rows


BOUNDS = bounds()


def run(program, inputs, level, folder, chip="sm_90a"):
    (folder / "program.mlir").write_text(program)
    for i, value in enumerate(inputs):
        np.save(folder / f"{i}.npy", value)
    test_quality.tool("run", folder / "program.mlir", *(f"--input={folder}/{i}.npy" for i in range(len(inputs))), f"--output={folder}/o",
                      f"--target=vgpu:{chip}", f"--compile.gpu-accuracy={level}")  # fmt: skip
    return np.load(folder / "o0.npy")


def ulps(got, exact):
    """Errors in units in the last place of the exact result's binade. Infinities and NaN must be the same."""
    exact = np.asarray(exact, np.longdouble)
    got = got.astype(np.longdouble)
    finite = np.isfinite(exact) & (np.abs(exact) < np.longdouble(2) ** 128 * (1 - np.longdouble(2) ** -25))
    same = np.where(np.isnan(exact), np.isnan(got), got == np.where(finite, got, np.sign(exact) * np.inf))
    assert np.all(same), (got[~same][:5], exact[~same][:5])
    size = np.maximum(np.abs(np.where(finite, exact, 1)), SMALLEST_NORMAL)
    unit = np.exp2(np.floor(np.log2(size)) - 23)
    return np.where(finite, np.abs(np.where(finite, got - exact, 0)) / unit, 0)


def spread(count, seed=1):
    """Numbers of every magnitude, special values, and denormals."""
    random = np.random.default_rng(seed)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-40, 1.17549435e-38, 1, -1, 3.4028235e38, -3.4028235e38, 88.722, 88.723, 88.73, 89,
               -87.33, -87.34, -88, -100, -103.97, -103.98, -104, -110, -1e4, -1e30]  # fmt: skip
    any_bits = random.integers(0, 1 << 32, count // 2, np.uint64).astype(np.uint32).view(np.float32)
    small = random.uniform(-104, 89, count - count // 2 - len(special)).astype(np.float32)
    return np.concatenate([np.array(special, np.float32), any_bits, small])


FUNCTIONS = {
    "exp": ("stablehlo.exponential %x : {0}", np.exp),
    "rsqrt": ("stablehlo.rsqrt %x : {0}", lambda x: 1 / np.sqrt(x)),
    "logistic": ("stablehlo.logistic %x : {0}", lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))),
    "x / y": ("stablehlo.divide %x, %y : {0}", None),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_as_accurate_as_the_page_says(name, level, tmp_path):
    op, function = FUNCTIONS[name]
    x = spread(1 << 17)
    inputs = [x, np.random.default_rng(2).permutation(spread(1 << 17, 3))] if function is None else [x]
    tensor = f"tensor<{x.size}xf32>"
    arguments = ", ".join(f"%{n}: {tensor}" for n in "xy"[: len(inputs)])
    program = f"func.func @main({arguments}) -> {tensor} {{\n  %r = {op.format(tensor)}\n  return %r : {tensor}\n}}\n"
    got = run(program, inputs, level, tmp_path)
    with np.errstate(all="ignore"):
        wide = [value.astype(np.longdouble) for value in inputs]
        exact = wide[0] / wide[1] if function is None else function(wide[0])
        if level == "fast":
            # Results that are not normal numbers are 0, and so is the reciprocal of what is almost infinite.
            flushed = (np.abs(exact) < SMALLEST_NORMAL) & (got == 0) if name != "x / y" else np.zeros(x.shape, bool)
            got, exact = got[~flushed], exact[~flushed]
            x = x[~flushed]
        errors = ulps(got, exact)
    constant, factor = BOUNDS[name][level]
    allowed = constant + factor * np.minimum(np.abs(np.nan_to_num(x)), 104)
    worst = np.argmax(errors - allowed)
    print(f"{name}, {level}: at most {np.max(errors):.3f} ulp")
    assert errors[worst] <= allowed[worst], (x[worst], got[worst], exact[worst], errors[worst])


@pytest.mark.parametrize("mode", ["HIGHEST", "TOLERANCE"])
@pytest.mark.parametrize("name, op", [("exp", "exponential"), ("rsqrt", "rsqrt"), ("logistic", "logistic")])
def test_an_op_that_asks_for_accuracy_is_not_approximated(name, op, mode, tmp_path):
    x = spread(1 << 12)
    tensor = f"tensor<{x.size}xf32>"
    tolerance = "atol = 0.0, rtol = 0.0, ulps = 3, " if mode == "TOLERANCE" else ""
    accuracy = f"#stablehlo.result_accuracy<{tolerance}mode = #stablehlo.result_accuracy_mode<{mode}>>"
    program = (f"func.func @main(%x: {tensor}) -> {tensor} {{\n  %r = stablehlo.{op} %x {{result_accuracy = {accuracy}}} : {tensor}\n"
               f"  return %r : {tensor}\n}}\n")  # fmt: skip
    got, exact = run(program, [x], "fast", tmp_path), run(program, [x], "full", tmp_path)
    np.testing.assert_array_equal(got.view(np.uint32), exact.view(np.uint32))


def rows_of_softmax(columns):
    """Rows of every kind: scales, offsets, masked elements, subnormal results, NaN and infinities."""
    random = np.random.default_rng(5)
    rows = [random.normal(size=columns) * scale + offset for scale in (0, 1e-40, 0.01, 1, 5, 20, 1e30) for offset in (0, -1000, 1e6)]
    rows += [np.append(random.uniform(-104, -80, columns - 1), 0), np.append(random.uniform(-150, -100, columns - 1), 1), np.linspace(0, -130, columns)]
    masked = np.where(random.random((3, columns)) < 0.5, random.normal(size=(3, columns)), np.array([[-1e9], [-3e38], [-np.inf]]))
    special = random.normal(size=(6, columns))
    for i, value in enumerate((np.nan, np.inf, -np.inf, -3e38)):
        special[i, 7] = value
    special[4, 7:9] = np.inf, np.nan
    special[5, :] = -np.inf
    one = np.full(columns, -np.inf)
    one[3] = 3e38
    wide = np.full(columns, 3e38)
    wide[5] = -3e38
    return np.concatenate([np.array(rows), masked, special, one[None], wide[None]]).astype(np.float32)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("chip, columns", [("sm_90a", 1024), ("sm_80", 1000), ("sm_100a", 37)])
def test_a_softmax_is_as_accurate_as_the_page_says(chip, columns, level, tmp_path):
    x = rows_of_softmax(columns)
    program, _ = test_quality.softmax(rows=len(x), columns=columns)
    got = run(program, [x], level, tmp_path, chip)
    spoiled = ~np.isfinite(np.max(x, axis=1))
    assert np.all(np.isnan(got[spoiled])) and spoiled.sum() == 4
    x, got = x[~spoiled], got[~spoiled]
    with np.errstate(all="ignore"):
        rounded = x - np.max(x, axis=1, keepdims=True)  # as the program rounds the difference
        powers = np.exp(rounded.astype(np.longdouble))
        # The sum's rounding errors are those of every level; they are a factor of the whole row, which the ratios show. Of `fast`, only the numerator 1 is exact.
        ratios = np.where((got >= SMALLEST_NORMAL) & ((level != "fast") | (rounded == 0)), got / powers, np.nan)
        usual = (np.nanmin(ratios, axis=1) + np.nanmax(ratios, axis=1)) / 2
        exact = powers * usual[:, None]
        # Within rounding errors of a tree of additions, and those of the functions.
        assert np.all(np.abs(usual * np.sum(powers, axis=1) - 1) < (2.0**-16 if level == "fast" else 2.0**-20))
        assert np.all(got[exact < 2.0**-151] == 0)
        if level == "fast":
            flushed = (rounded < -87.3) & (got == 0)
            got, exact, rounded = got[~flushed], exact[~flushed], rounded[~flushed]
        errors = ulps(got, exact)
    constant, factor = BOUNDS["softmax"][level]
    allowed = constant + factor * np.minimum(np.abs(rounded), 104)
    worst = np.unravel_index(np.argmax(errors - allowed), errors.shape)
    print(f"softmax, {level}, {chip}: at most {np.max(errors):.3f} ulp")
    assert errors[worst] <= allowed[worst], (rounded[worst], got[worst], exact[worst], errors[worst])


# Triton's kernel for this softmax has 176 instructions, with ex2.approx of a rounded product.
@pytest.mark.parametrize("level, most", [("balanced", 250), ("fast", 192)])
def test_a_softmax_has_few_instructions(level, most, tmp_path):
    def tool(*arguments):
        return test_quality.tool(*arguments, f"--compile.gpu-accuracy={level}")

    code = machine_code(tmp_path, "softmax", test_quality.softmax(4096, 1024)[0], "sm_90a", tool)
    count = len(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/", code, re.M))
    print(f"softmax of 4096 x 1024, {level}: {count} instructions")
    assert count <= most
    assert not re.search(r"\b(LDL|STL|CALL)\b", code)


def test_an_unknown_level_is_refused(tmp_path):
    (tmp_path / "program.mlir").write_text(test_quality.softmax(4, 8)[0])
    with pytest.raises(AssertionError, match="compile.gpu-accuracy is 'best', expected full, balanced or fast"):
        test_quality.tool("compile", tmp_path / "program.mlir", "--target=sm_90a", f"--output={tmp_path}/o.twx", "--compile.gpu-accuracy=best")
