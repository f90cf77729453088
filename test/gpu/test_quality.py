"""Resources of kernels for a Hopper GPU: sectors, bank conflicts, TMA, registers, compile time. Counted, not timed."""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from machine_code import attention_roles, computed_product, live_registers, loops_of, machine_code, steady_loop

TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "bin/tilewright"


def gemm(element, result="f16", size=512, contract=1):
    a, c = f"tensor<{size}x{size}x{element}>", f"tensor<{size}x{size}x{result}>"
    return (f"func.func @main(%a: {a}, %b: {a}) -> {c} {{\n  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [{contract}] : ({a}, {a}) -> {c}\n"
            f"  return %d : {c}\n}}\n", [f"{size}x{size}x{element}={1 if element[0] == 'i' else 0.5}"] * 2)  # fmt: skip


def mixed(small, order="nn", result="f32", size=1024):
    """bf16 times a smaller type that is widened in the prologue."""
    a, w, c = f"tensor<{size}x{size}xbf16>", f"tensor<{size}x{size}x{small}>", f"tensor<{size}x{size}x{result}>"
    return (f"func.func @main(%a: {a}, %w: {w}) -> {c} {{\n  %b = stablehlo.convert %w : ({w}) -> {a}\n"
            f"  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [{'nt'.index(order[1])}] : ({a}, {a}) -> {c}\n  return %d : {c}\n}}\n",
            [f"{size}x{size}xbf16=0.5", f"{size}x{size}x{small}=1"])  # fmt: skip


# The types of the elements and scales of both sides, and the size of a block.
SCALED = {"MXFP8": ("f8E4M3FN", "f8E4M3FN", "f8E8M0FNU", 32), "MXFP4": ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 32),
          "NVFP4": ("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16), "e4m3 e2m1": ("f8E4M3FN", "f4E2M1FN", "f8E8M0FNU", 32)}  # fmt: skip


def scaled(name, size):
    """A block-scaled product, dequantised to bf16."""
    *elements, scale, block = SCALED[name]
    wide, blocks, result = f"tensor<{size}x{size}xbf16>", f"{size}x{size // block}", f"tensor<{size}x{size}xf32>"

    def side(v, element):
        return f"""  %{v}w = stablehlo.convert %{v} : (tensor<{size}x{size}x{element}>) -> {wide}
  %{v}c = stablehlo.convert %s{v} : (tensor<{blocks}x{scale}>) -> tensor<{blocks}xbf16>
  %{v}b = stablehlo.broadcast_in_dim %{v}c, dims = [0, 1] : (tensor<{blocks}xbf16>) -> tensor<{blocks}x{block}xbf16>
  %{v}r = stablehlo.reshape %{v}b : (tensor<{blocks}x{block}xbf16>) -> {wide}
  %{v}d = stablehlo.multiply %{v}w, %{v}r : {wide}
"""

    arguments = ", ".join(f"%{v}: tensor<{size}x{size}x{element}>, %s{v}: tensor<{blocks}x{scale}>" for v, element in zip("xy", elements))
    program = f"""func.func @main({arguments}) -> {result} {{
{side("x", elements[0])}{side("y", elements[1])}  %d = stablehlo.dot_general %xd, %yd, contracting_dims = [1] x [1] : ({wide}, {wide}) -> {result}
  return %d : {result}
}}
"""
    return program, [text for element in elements for text in (f"{size}x{size}x{element}=1", f"{blocks}x{scale}=0.5")]


def softmax(rows=256, columns=1024, name="main"):
    x, r = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    reduce = "stablehlo.reduce(%{0} init: %{1}) applies stablehlo.{2} across dimensions = [1] : ({3}, tensor<f32>) -> {4}"
    return (f"""func.func @{name}(%x: {x}) -> {x} {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = {reduce.format('x', 'low', 'maximum', x, r)}
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : ({r}) -> {x}
  %d = stablehlo.subtract %x, %mb : {x}
  %e = stablehlo.exponential %d : {x}
  %s = {reduce.format('e', 'zero', 'add', x, r)}
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : ({r}) -> {x}
  %o = stablehlo.divide %e, %sb : {x}
  return %o : {x}
}}
""", [f"{rows}x{columns}xf32=1"])  # fmt: skip


def attention(heads, size, width, element="bf16"):
    q, s, r = (f"tensor<{shape}>" for shape in (f"{heads}x{size}x{width}x{element}", f"{heads}x{size}x{size}xf32", f"{heads}x{size}xf32"))
    reduce = "stablehlo.reduce(%{0} init: %{1}) applies stablehlo.{2} across dimensions = [2] : (" + s + ", tensor<f32>) -> " + r
    return f"""func.func @main(%q: {q}, %k: {q}, %v: {q}) -> {q} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<{width ** -0.5}> : {s}
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({q}, {q}) -> {s}
  %s = stablehlo.multiply %x, %scale : {s}
  %m = {reduce.format("s", "low", "maximum")}
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({r}) -> {s}
  %d = stablehlo.subtract %s, %mb : {s}
  %e = stablehlo.exponential %d : {s}
  %l = {reduce.format("e", "zero", "add")}
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : ({r}) -> {s}
  %p = stablehlo.divide %e, %lb : {s}
  %w = stablehlo.convert %p : ({s}) -> {s.replace("f32", element)}
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({s.replace("f32", element)}, {q}) -> {q}
  return %o : {q}
}}
"""


PROGRAMS = {"gemm f16": gemm("f16"), "gemm bf16": gemm("bf16"), "gemm e4m3": gemm("f8E4M3FN"), "gemm to f32": gemm("f16", "f32"),
            "gemm bf16 e4m3": mixed("f8E4M3FN"), "gemm bf16 e4m3 rows": mixed("f8E4M3FN", "nt"), "gemm bf16 e4m3 half": mixed("f8E4M3FN", "nt", "bf16", 512),
            "gemm bf16 i4": mixed("i4", size=512), "gemm tf32": gemm("f32", "f32"), "softmax": softmax()}  # fmt: skip
# On few multiprocessors a product is a persistent kernel, and TMA stores its narrow result.
FEW = {"gemm f16 on 4": gemm("f16"), "gemm e4m3 to bf16 on 4": gemm("f8E4M3FN", "bf16"), "gemm to f32 on 4": gemm("f16", "f32")}
# Products on a chip without TMA: operands by cp.async, fragments by ldmatrix, and f32 along N word by word.
AMPERE = {"f16": gemm("f16", size=1024), "f16 along N": gemm("f16", contract=0), "bf16 to f32": gemm("bf16", "f32"),
          "tf32": gemm("f32", "f32"), "tf32 along N": gemm("f32", "f32", contract=0), "s8": gemm("i8", "i32"),
          "s8 along N": gemm("i8", "i32", contract=0)}  # fmt: skip


def tool(*arguments, **variables):
    ended = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=os.environ | variables)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("name", PROGRAMS | FEW)
def test_memory_is_used_well(name, tmp_path):
    program, inputs = (PROGRAMS | FEW)[name]
    (tmp_path / "program.mlir").write_text(program)
    counts = tool("run", tmp_path / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", "--target=vgpu:sm_90a",
                  f"--compile.processors={4 if name in FEW else 0}", TILEWRIGHT_VGPU_CHECK="count")  # fmt: skip
    sectors, ideal = map(int, re.search(r"(\d+) sectors, ideally (\d+)", counts).groups())
    assert sectors <= 1.02 * ideal, counts
    assert int(re.search(r"(\d+) of them bank conflicts", counts)[1]) == 0, counts
    if name.startswith("gemm"):
        # TMA loads both operands, each byte of a tile once: 32 bytes to a sector.
        size, copied = map(int, re.search(r"asynchronous +(\d+) bytes of global memory in (\d+) sectors", counts).groups())
        assert size == 32 * copied, counts


def copied_bytes(small, order, folder):
    """The bytes that TMA loads for 16 rows of bf16 times 1024 x 1024 weights of a smaller type."""
    x, w, b, r = "tensor<16x1024xbf16>", f"tensor<1024x1024x{small}>", "tensor<1024x1024xbf16>", "tensor<16x1024xf32>"
    (folder / "program.mlir").write_text(f"""func.func @main(%x: {x}, %w: {w}) -> {r} {{
  %b = stablehlo.convert %w : ({w}) -> {b}
  %d = stablehlo.dot_general %x, %b, contracting_dims = [1] x [{'nt'.index(order[1])}] : ({x}, {b}) -> {r}
  return %d : {r}
}}
""")
    counts = tool("run", folder / "program.mlir", "--input=16x1024xbf16=0.5", f"--input=1024x1024x{small}=1", f"--output={folder}/o",
                  "--target=vgpu:sm_90a", TILEWRIGHT_VGPU_CHECK="count")  # fmt: skip
    assert counts.count("\nkernel ") + counts.startswith("kernel ") == 1, counts
    assert np.array_equal(np.load(folder / "o0.npy"), np.full((16, 1024), 512, np.float32))
    return int(re.search(r"asynchronous +(\d+) bytes of global memory", counts)[1])


@pytest.mark.parametrize("order", ["nn", "nt"])
def test_weights_below_a_byte_are_read_packed(order, tmp_path):
    bytes_ = copied_bytes("i8", order, tmp_path)
    for small, bits in (("i4", 4), ("f4E2M1FN", 4), ("ui2", 2)):
        assert bytes_ - copied_bytes(small, order, tmp_path) == 1024 * 1024 * (8 - bits) // 8, small


def moved_bytes(program, inputs, folder):
    """The bytes of global memory that all kernels of a program read and write. Blocks run one after the other, so none reads a word again to wait."""
    (folder / "program.mlir").write_text(program)
    counts = tool("run", folder / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={folder}/o", "--target=vgpu:sm_90a",
                  TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_THREADS="1")  # fmt: skip
    return 32 * sum(map(int, re.findall(r"(\d+) sectors, ideally", counts)))


def test_a_running_sum_reads_and_writes_each_element_once(tmp_path):
    rows, columns = 8, 65536
    x = f"tensor<{rows}x{columns}xf32>"
    program = f"""func.func @main(%x: {x}) -> {x} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %zero) <{{window_dimensions = array<i64: 1, {columns}>, padding = dense<[[0, 0], [{columns - 1}, 0]]> : tensor<2x2xi64>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : ({x}, tensor<f32>) -> {x}
  return %r : {x}
}}
"""
    np.save(tmp_path / "x.npy", np.random.default_rng(1).integers(-9, 10, (rows, columns)).astype(np.float32))
    moved = moved_bytes(program, [tmp_path / "x.npy"], tmp_path)
    assert moved <= 2.2 * 4 * rows * columns, moved / (4 * rows * columns)
    assert np.array_equal(np.load(tmp_path / "o0.npy"), np.cumsum(np.load(tmp_path / "x.npy"), axis=1))


def test_few_long_rows_are_scanned_by_all_multiprocessors(tmp_path):
    n = 200000
    x = f"tensor<{n}xi32>"
    program = f"""func.func @main(%x: {x}) -> {x} {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%x, %zero) <{{window_dimensions = array<i64: {n}>, padding = dense<[[0, {n - 1}]]> : tensor<1x2xi64>}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }}) : ({x}, tensor<i32>) -> {x}
  return %r : {x}
}}
"""
    np.save(tmp_path / "x.npy", np.random.default_rng(1).integers(-9, 10, n).astype(np.int32))
    moved = moved_bytes(program, [tmp_path / "x.npy"], tmp_path)
    assert moved <= 2.1 * 4 * n, moved / (4 * n)
    assert np.array_equal(np.load(tmp_path / "o0.npy"), np.cumsum(np.load(tmp_path / "x.npy")[::-1])[::-1])


def sort_program(n, element, less):
    x = f"tensor<{n}x{element}>"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %r = "stablehlo.sort"(%x) <{{dimension = 0 : i64, is_stable = false}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    {less}
    stablehlo.return %l : tensor<i1>
  }}) : ({x}) -> {x}
  return %r : {x}
}}
"""


def test_a_radix_sort_moves_its_keys_once_for_each_digit(tmp_path):
    n = 1 << 20
    less = "%l = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>"
    np.save(tmp_path / "x.npy", np.random.default_rng(1).integers(0, 1 << 32, n).astype(np.uint32))
    (tmp_path / "program.mlir").write_text(sort_program(n, "ui32", less))
    counts = tool("run", tmp_path / "program.mlir", f"--input={tmp_path}/x.npy", f"--output={tmp_path}/o", "--target=vgpu:sm_90a",
                  TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_THREADS="1")  # fmt: skip
    # The keys to count them, then back and forth for three digits; the rest are words by which blocks tell each other their counts.
    moved = sum(sum(int(number or 0) for number in found) for found in re.findall(r"global +(\d+) bytes read, (\d+) written(?:, (\d+) atomic)?", counts))
    assert moved <= 9 * 4 * n, moved / (4 * n)
    assert np.array_equal(np.load(tmp_path / "o0.npy"), np.sort(np.load(tmp_path / "x.npy")))


def test_a_long_sort_moves_its_keys_once_for_each_level_of_merges(tmp_path):
    n, levels = 1 << 17, 4
    # Not a comparison of one function of each element, so not a radix sort.
    less = """%d = stablehlo.subtract %a, %b : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %l = stablehlo.compare LT, %d, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>"""
    program = sort_program(n, "i32", less)
    np.save(tmp_path / "x.npy", np.random.default_rng(1).integers(-1 << 30, 1 << 30, n).astype(np.int32))
    moved = moved_bytes(program, [tmp_path / "x.npy"], tmp_path)
    # Chunks of the parts begin anywhere, so a warp of a merge reads five sectors where four would do; the search adds a little.
    assert moved <= (2 + 2.35 * levels) * 4 * n, moved / (4 * n)
    assert np.array_equal(np.load(tmp_path / "o0.npy"), np.sort(np.load(tmp_path / "x.npy")))


@pytest.mark.parametrize("element, table_is_zero", [("f32", True), ("f32", False), ("i32", False)])
def test_a_scatter_reads_its_updates_once_and_writes_their_rows(element, table_is_zero, tmp_path):
    updates, rows, columns = 2048, 8000, 128
    table, update, index = (f"tensor<{shape}>" for shape in (f"{rows}x{columns}x{element}", f"{updates}x{columns}x{element}", f"{updates}x1xi32"))
    zeros = f"%t = stablehlo.constant dense<0.0> : {table}" if table_is_zero else ""
    program = f"""func.func @main(%{"unused" if table_is_zero else "t"}: {table}, %i: {index}, %u: {update}) -> {table} {{
  {zeros}
  %r = "stablehlo.scatter"(%t, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    %s = stablehlo.add %a, %b : tensor<{element}>
    stablehlo.return %s : tensor<{element}>
  }}) : ({table}, {index}, {update}) -> {table}
  return %r : {table}
}}
"""
    random, dtype = np.random.default_rng(1), np.dtype("f4" if element == "f32" else "i4")
    # Every other update is one of few rows, as in text.
    index = np.where(random.integers(0, 2, updates) == 0, random.integers(0, 100, updates), random.integers(0, rows, updates))
    inputs = [random.integers(-9, 9, (rows, columns)).astype(dtype), index[:, None].astype(np.int32), random.integers(-9, 9, (updates, columns)).astype(dtype)]
    for i, value in enumerate(inputs):
        np.save(tmp_path / f"{i}.npy", value)
    moved = moved_bytes(program, [tmp_path / f"{i}.npy" for i in range(3)], tmp_path)
    if table_is_zero:  # a table that is written first, by a kernel of its own
        moved -= 4 * rows * columns
        inputs[0][:] = 0
    assert moved <= 3 * 4 * updates * columns, moved / (4 * updates * columns)
    expected = inputs[0].copy()
    np.add.at(expected, inputs[1][:, 0], inputs[2])
    assert np.array_equal(np.load(tmp_path / "o0.npy"), expected)


@pytest.mark.parametrize("name", AMPERE)
def test_products_of_warps_use_memory_well(name, tmp_path):
    program, inputs = AMPERE[name]
    (tmp_path / "program.mlir").write_text(program)
    counts = tool("run", tmp_path / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", "--target=vgpu:sm_80",
                  TILEWRIGHT_VGPU_CHECK="count")  # fmt: skip
    sectors, ideal = map(int, re.search(r"(\d+) sectors, ideally (\d+)", counts).groups())
    assert sectors <= 1.02 * ideal, counts
    assert int(re.search(r"(\d+) of them bank conflicts", counts)[1]) == 0, counts
    tool("compile", tmp_path / "program.mlir", "--target=sm_80", f"--output={tmp_path}/p.twx", f"--code={tmp_path}/p")
    ptx = (tmp_path / "p.ptx").read_text()
    for instruction in ("cp.async.cg.shared.global", "cp.async.wait_group", "ldmatrix.sync.aligned.m8n8.x4", "mma.sync.aligned"):
        assert instruction in ptx, instruction
    words = tool("explain", "kernels", tmp_path / "program.mlir", "--target=sm_80", "--details")
    assert "warps in" in words and "operands has" in words, words
    if "assembled by ptxas" not in words:
        pytest.skip("there is no ptxas on this machine")
    assert re.findall(r"(\d+) bytes spilled", words) == ["0"], words
    assert ".local" not in ptx


def test_engines_are_those_of_the_best_kernels(tmp_path):
    (tmp_path / "gemm.mlir").write_text(gemm("f16", size=4096)[0])
    tool("compile", tmp_path / "gemm.mlir", "--target=sm_90a", f"--output={tmp_path}/gemm.twx", f"--code={tmp_path}/gemm")
    ptx = (tmp_path / "gemm.ptx").read_text()
    for instruction in ("cp.async.bulk.tensor.2d", "multicast::cluster", "wgmma.mma_async", "setmaxnreg.inc", "setmaxnreg.dec", "mbarrier.try_wait",
                        "stmatrix.sync", "global.shared::cta.bulk_group"):
        assert instruction in ptx, instruction
    assert "f32x2" not in ptx


def test_tf32_goes_to_the_best_instructions_if_both_sides_are_contiguous_along_k(tmp_path):
    for contract, instructions in (1, ("wgmma.mma_async", "tf32.tf32", "cp.async.bulk.tensor.2d")), (0, ("mma.sync", "cvt.rna.tf32.f32", "cp.async.cg")):
        (tmp_path / "gemm.mlir").write_text(gemm("f32", "f32", contract=contract)[0])
        tool("compile", tmp_path / "gemm.mlir", "--target=sm_90a", f"--output={tmp_path}/gemm.twx", f"--code={tmp_path}/gemm")
        ptx = (tmp_path / "gemm.ptx").read_text()
        for instruction in instructions:
            assert instruction in ptx, instruction
        said = tool("explain", "kernels", tmp_path / "gemm.mlir", "--target=sm_90a", "--details")
        assert ("it has no roles: matrix instructions of tf32 need both operands contiguous along K" in said) == (contract == 0), said
        assert ("cvt.rna.tf32" in ptx) == (contract == 0)


def test_a_side_that_is_computed_goes_to_the_best_instructions_through_registers(tmp_path):
    for order, load in ("nn", "ldmatrix.sync.aligned.m8n8.x4.trans"), ("nt", "ld.shared.u16"):
        (tmp_path / "gemm.mlir").write_text(mixed("f8E4M3FN", order)[0])
        tool("compile", tmp_path / "gemm.mlir", "--target=sm_90a", f"--output={tmp_path}/gemm.twx", f"--code={tmp_path}/gemm")
        ptx = (tmp_path / "gemm.ptx").read_text()
        assert re.search(r"wgmma\.mma_async[^;]*\}, \{%r\d+, %r\d+, %r\d+, %r\d+\}, c", ptx)
        for instruction in ("cp.async.bulk.tensor.2d", load, "cvt.rn.f16x2.e4m3x2", "cvt.rn.bf16x2.f32"):
            assert instruction in ptx, instruction
        assert "mma.sync" not in ptx


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_spilled(name, tmp_path):
    (tmp_path / "program.mlir").write_text(PROGRAMS[name][0])
    words = tool("explain", "kernels", tmp_path / "program.mlir", "--target=sm_90a", "--details")
    if "assembled by ptxas" not in words:
        pytest.skip("there is no ptxas on this machine")
    assert re.findall(r"(\d+) bytes spilled", words) == ["0"], words


def test_time_grows_with_the_number_of_fusions(tmp_path):
    """CPU seconds for 4 and for 16 different softmaxes: proportional, with an allowance for starting a process."""
    def seconds(count):
        x = [f"tensor<{64 + i}x{256 + 32 * i}xf32>" for i in range(count)]
        functions = "".join(softmax(64 + i, 256 + 32 * i, f"f{i}")[0].replace("func.func @", "func.func private @") for i in range(count))
        calls = "".join(f"  %r{i} = func.call @f{i}(%a{i}) : ({t}) -> {t}\n" for i, t in enumerate(x))
        arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(x))
        main = f"func.func @main({arguments}) -> ({', '.join(x)}) {{\n{calls}  return {', '.join(f'%r{i}' for i in range(count))} : {', '.join(x)}\n}}\n"
        (tmp_path / "many.mlir").write_text(functions + main)
        began = os.times()
        tool("compile", tmp_path / "many.mlir", "--target=vgpu:sm_90a", f"--output={tmp_path}/many.twx")
        ended = os.times()
        return ended.children_user - began.children_user

    few, many = seconds(4), seconds(16)
    print(f"4 fusions {few:.2f} s, 16 fusions {many:.2f} s")
    assert many <= 6 * max(few, 0.05)


def test_the_machines_own_gpu_is_a_target(tmp_path):
    """`cuda` means the machine's driver, and code for its chip. Here the driver is the virtual one, given by its path."""
    (tmp_path / "softmax.mlir").write_text(softmax(4, 8)[0])
    library = next(TOOL.parents[1].glob("**/libcuda.so.1"))
    words = tool("run", tmp_path / "softmax.mlir", "--input=4x8xf32=1", "--target=cuda", TILEWRIGHT_CUDA_LIBRARY=str(library), TILEWRIGHT_VGPU_CHIP="sm_80")
    assert "[0.125, 0.125" in words, words


def test_machine_code_is_kept_by_content(tmp_path):
    if not shutil.which("ptxas", path=f"{os.environ['PATH']}:/usr/local/cuda/bin"):
        pytest.skip("ptxas is not on this machine")
    (tmp_path / "program.mlir").write_text(softmax()[0])

    def compiled(folder):
        tool("compile", tmp_path / "program.mlir", f"--output={tmp_path}/out.twx", "--target=sm_90a", f"--compile.cache-dir={folder}")
        return (tmp_path / "out.twx").read_bytes()

    folder = tmp_path / "kept"
    first = compiled(folder)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    # Damaged machine code in the cache is never used: it is assembled again.
    at = whole.rindex(b"\x7fELF") + 100
    for damaged in (whole + b"told apart", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], b"damaged"):
        kept.write_bytes(damaged)
        assert compiled(folder) == first
        assert kept.read_bytes() != damaged


def test_one_thread_keeps_a_pair_busy(tmp_path):
    """Two multiprocessors with tensor memory multiply what one thread issues: it must be far faster than they are. Each instruction multiplies
    256 x 256 x 16, at 4096 multiply-adds per cycle and multiprocessor."""
    program, _ = gemm("bf16", "bf16", 8192)
    code = machine_code(tmp_path, "pair", program, "sm_100a", tool, "-plr")
    loop, live = steady_loop(code), live_registers(code)
    cycles = loop.products * 256 * 256 * 16 / (2 * 4096)
    print(f"bf16, 8192: {loop.cycles} issue cycles in {cycles:.0f} of the tensor cores ({loop.cycles / cycles:.3f}), {live} live registers")
    assert "UTCHMMA.2CTA" in code and not re.search(r"\b(LDL|STL)\b", code)
    assert loop.cycles <= 0.12 * cycles
    assert live <= 64


# CuTe's kernels: 0.18 for MXFP8, 0.21 for MXFP4, 0.26 for NVFP4 (reference, not measured here). An instruction multiplies 32 elements of the depth of f8, 64 of f4.
@pytest.mark.parametrize("name, depth, rate, bound", [("MXFP8", 32, 8192, 0.18), ("MXFP4", 64, 16384, 0.21), ("NVFP4", 64, 16384, 0.26)])
def test_one_thread_issues_block_scaled_products(name, depth, rate, bound, tmp_path):
    """Issue cycles of the loop that multiplies, with the copies of scales to tensor memory, for each cycle in which the tensor core is busy."""
    code = machine_code(tmp_path, "scaled", scaled(name, 8192)[0], "sm_100a", tool)
    (multiply, *_) = loops_of(code, r"\bUTC[QO]MMA\b")
    products = sum(bool(re.search(r"\bUTC[QO]MMA\b", line)) for line, _ in multiply)
    words = tool("explain", "kernels", tmp_path / "scaled.mlir", "--target=sm_100a", "--details")
    elements = 8192**2 // int(re.search(r"(\d+) tiles on", words)[1])
    share = sum(cycles for _, cycles in multiply) / (products * elements * depth / rate)
    print(f"{name}, 8192: {share:.3f} issue cycles a tensor cycle")
    assert "UTCCP" in code and not re.search(r"\b(LDL|STL)\b", code)
    assert 0 < share <= bound


# With a kernel of mma.sync that dequantised for itself, 4.8, 3.3, 3.6 and 4.0.
@pytest.mark.parametrize("name, slots", [("MXFP8", 0.92), ("MXFP4", 0.94), ("NVFP4", 1.04), ("e4m3 e2m1", 0.98)])
def test_block_scaled_products_leave_the_tensor_core_busy(name, slots, tmp_path):
    code = machine_code(tmp_path, "scaled", scaled(name, 8192)[0], "sm_90a", tool)
    found = computed_product(code)
    print(f"{name}, 8192: {found:.3f} issue slots of a scheduler a tensor cycle")
    assert not re.search(r"\b(LDL|STL)\b", code)
    assert 0 < found <= slots
    words = tool("explain", "kernels", tmp_path / "scaled.mlir", "--target=sm_90a", "--details")
    assert words.startswith("1 kernel for sm_90a, 1 launch") and "both operands have a prologue" in words, words
    assert re.findall(r"(\d+) bytes spilled", words) == ["0"], words


@pytest.mark.parametrize("name", SCALED)
def test_block_scaled_products_move_nothing_dequantised(name, tmp_path):
    """TMA copies elements as they are in memory, and only the result is written. Shared memory has no bank conflicts."""
    size = 512
    program, inputs = scaled(name, size)
    (tmp_path / "program.mlir").write_text(program)
    counts = tool("run", tmp_path / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", "--target=vgpu:sm_90a",
                  TILEWRIGHT_VGPU_CHECK="count")  # fmt: skip
    assert np.array_equal(np.load(tmp_path / "o0.npy"), np.full((size, size), size / 4, np.float32))
    assert counts.count("\nkernel ") + counts.startswith("kernel ") == 1, counts
    (copied,) = re.findall(r"asynchronous +(\d+) bytes of global memory", counts)
    (written,) = re.findall(r"global +\d+ bytes read, (\d+) written", counts)
    print(f"{name}, {size}: {copied} bytes of elements copied, {written} written")
    said = tool("explain", "kernels", tmp_path / "program.mlir", "--target=sm_90a", "--details")
    assert int(copied) == int(re.search(r"multiply-adds, (\d+) bytes of operands loaded", said)[1]), (copied, said)
    assert int(written) == 4 * size * size, counts
    assert int(re.search(r"(\d+) of them bank conflicts", counts)[1]) == 0, counts


# The size is a multiple of the block of keys, so that the loop has no branch. FlashAttention-3 has 0.41 and 0.95 with a head of 128, Triton 0.55 and 1.07. A head
# of 64 has half the products for each score: a maximum, a multiply-add, an exponential, an addition and half a conversion are 0.56 already.
@pytest.mark.parametrize("width, size, instructions, cycles", [(128, 192 * 22, 0.45, 1.0), (64, 208 * 20, 0.78, 1.62)])
def test_attention_leaves_issue_slots_to_the_other_warpgroup(width, size, instructions, cycles, tmp_path):
    program = attention(32, size, width)
    loop = steady_loop(machine_code(tmp_path, "attention", program, "sm_90a", tool))
    print(f"head of {width}: {loop.instructions / loop.tensor_cycles:.3f} instructions, {loop.cycles / loop.tensor_cycles:.3f} cycles a tensor cycle")
    assert loop.instructions <= instructions * loop.tensor_cycles, loop
    assert loop.cycles <= cycles * loop.tensor_cycles, loop
    words = tool("explain", "kernels", tmp_path / "attention.mlir", "--target=sm_90a", "--details")
    assert re.findall(r"(\d+) bytes spilled", words) == ["0"], words


# Sizes are multiples of both blocks, so that no block has a mask. With a head of 128 FlashAttention-4 has 0.11, 0.70 and 0.88. A head of 64 has half the products
# for each score, so that its exponentials alone take the special-function units twice as long as its products take the tensor core.
@pytest.mark.parametrize("width, size, multiplying, slots, special", [(128, 256 * 15, 0.12, 0.75, 1.03), (64, 256 * 21, 0.13, 1.55, 1.8)])
def test_attention_in_tensor_memory_has_a_warp_that_multiplies(width, size, multiplying, slots, special, tmp_path):
    code = machine_code(tmp_path, "attention", attention(32, size, width), "sm_100a", tool)
    words = tool("explain", "kernels", tmp_path / "attention.mlir", "--target=sm_100a", "--details")
    (threads,) = re.findall(r"softmax_dot: \S+ blocks of (\d+) threads", words)
    roles = attention_roles(code, width, int(threads) // 128 - 1)
    print(f"head of {width}: {roles.multiplying:.3f} instructions of the warp that multiplies, {roles.slots:.3f} of its scheduler, "
          f"{roles.special:.3f} cycles of special functions a tensor cycle")  # fmt: skip
    assert "FMNMX" in code and not re.search(r"\b(LDL|STL)\b", code)
    assert re.findall(r"(\d+) bytes spilled", words) == ["0"], words
    assert roles.multiplying <= multiplying, roles
    assert roles.slots <= slots, roles
    assert roles.special <= special, roles
