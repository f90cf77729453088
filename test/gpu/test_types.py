"""Products of every pair of element types that the verifier allows, for every chip that we compile for.

A type that no matrix instruction of the chip multiplies is converted to one that holds all of its values, or multiplied
element by element. On chips of the virtual GPU the results are compared with the exact ones; for the others the program
is compiled. Of chips with the same matrix instructions, the first has all pairs, the others every eighth.
"""

import itertools
import pathlib
import re
import sys

import numpy as np
import pytest
import test_quality

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "exec"))
import exec_file  # noqa: E402

REALS = ["f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU",
         "bf16", "f16", "f32", "f64"]  # fmt: skip
INTEGERS = ["i2", "i4", "i8", "i16", "i32", "i64", "ui2", "ui4", "ui8", "ui16", "ui32", "ui64"]
COMPLEX = ["complex<f32>", "complex<f64>"]
# Types of results, in turn. All sums are exact in all of them.
RESULTS = {"real": ["f32", "f64", "f16", "bf16"], "integer": ["i32", "i64", "i16", "ui32", "i8"], "complex": COMPLEX}
M, N, K = 16, 24, 32

DEFINITIONS = pathlib.Path(__file__).parents[2] / "tilewright/chips/NvidiaChips.def"
CHIPS = re.findall(r'_CHIP\("(\w+)", \d+, \w+, (both|compile),[^"]*?(\w+),\s*"([^"]*)"\)', DEFINITIONS.read_text())


def pairs():
    """Pairs of types, with the type of their product."""
    for kind, types in (("real", REALS), ("integer", INTEGERS), ("complex", COMPLEX)):
        for number, (left, right) in enumerate(itertools.combinations_with_replacement(types, 2)):
            if number % 2:
                left, right = right, left
            yield left, right, RESULTS[kind][number % len(RESULTS[kind])]


def program(chosen):
    """The operands are converted from f32 or i8 by kernels of their own, because several products read them."""
    lines, made = [], set()

    def operand(side, element):
        shape = f"{M}x{K}" if side == "a" else f"{K}x{N}"
        of = "i8" if element in INTEGERS else "f32"
        name = f"%{side}_{re.sub('[<>]', '_', element)}"
        if name not in made:
            lines.append(f"  {name} = stablehlo.convert %{side}_of_{of} : (tensor<{shape}x{of}>) -> tensor<{shape}x{element}>")
            made.add(name)
        return name, f"tensor<{shape}x{element}>"

    results = [f"tensor<{M}x{N}x{result}>" for _, _, result in chosen]
    for number, (left, right, _) in enumerate(chosen):
        (a, a_type), (b, b_type) = operand("a", left), operand("b", right)
        lines.append(f"  %d{number} = stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : ({a_type}, {b_type}) -> {results[number]}")
    arguments = ", ".join(f"%{side}_of_{of}: tensor<{shape}x{of}>" for side, shape in (("a", f"{M}x{K}"), ("b", f"{K}x{N}")) for of in ("f32", "i8"))
    names = ", ".join(f"%d{number}" for number in range(len(results)))
    return (f"func.func @main({arguments}) -> ({', '.join(results)}) {{\n" + "\n".join(lines) +
            f"\n  return {names} : {', '.join(results)}\n}}\n")  # fmt: skip


def is_first_of_its_kind(chip):
    kinds = [(unit, types) for _, _, unit, types in CHIPS]
    at = [name for name, *_ in CHIPS].index(chip)
    return kinds.index(kinds[at]) == at


def test_the_table_of_chips_is_read():
    assert {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100a", "sm_110a"} <= {name for name, *_ in CHIPS}
    assert is_first_of_its_kind("sm_80") and not is_first_of_its_kind("sm_86") and is_first_of_its_kind("sm_89")


@pytest.mark.parametrize("chip, use", [(name, use) for name, use, *_ in CHIPS])
def test_products_of_all_types(chip, use, tmp_path):
    chosen = list(pairs())[:: 1 if is_first_of_its_kind(chip) else 8]
    (tmp_path / "program.mlir").write_text(program(chosen))
    if use == "compile":
        test_quality.tool("compile", tmp_path / "program.mlir", f"--target={chip}", f"--output={tmp_path}/program.twx")
        return
    # Values that every type holds: f8E8M0FNU has powers of two only, i2 ends at 1.
    index = np.arange(M * K).reshape(M, K), np.arange(K * N).reshape(K, N)
    reals = [(i * 7 % 5 < 2) + 1.0 for i in index]
    integers = [(i * 7 % 5 < 2) * 1.0 for i in index]
    inputs = [f"--input={exec_file.spell(values.astype(dtype), name)}" for side in (0, 1)
              for values, dtype, name in ((reals[side], np.float32, "f32"), (integers[side], np.int8, "i8"))]  # fmt: skip
    test_quality.tool("run", tmp_path / "program.mlir", *inputs, f"--output={tmp_path}/o", f"--target=vgpu:{chip}", TILEWRIGHT_VGPU_CHECK="all")
    wrong = []
    for number, (left, right, result) in enumerate(chosen):
        expected = integers[0] @ integers[1] if left in INTEGERS else reals[0] @ reals[1]
        got = exec_file.load(tmp_path / f"o{number}.npy", result)
        if not np.array_equal(got.astype(np.complex128), expected):
            wrong.append(f"{left} x {right} -> {result}")
    assert not wrong, f"{len(wrong)} of {len(chosen)} products are wrong: {', '.join(wrong)}"


@pytest.mark.parametrize("chip", [name for name, use, *_ in CHIPS if use == "both"])
def test_reductions(chip, tmp_path):
    """Each chip of the virtual GPU also runs a reduction and what follows it: a softmax of equal numbers."""
    text, inputs = test_quality.softmax(rows=8, columns=256)
    (tmp_path / "program.mlir").write_text(text)
    test_quality.tool("run", tmp_path / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", f"--target=vgpu:{chip}",
                      TILEWRIGHT_VGPU_CHECK="all")  # fmt: skip
    assert np.array_equal(np.load(tmp_path / "o0.npy"), np.full((8, 256), 1 / 256, np.float32))
