"""The steady loops of products and of attention for GPUs of AMD, read from machine code: what one wave issues beside its matrix instructions, what it waits for."""

import collections
import os
import pathlib
import re
import subprocess

import pytest

TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "bin/tilewright"


def tool(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def gemm(element, order, hint, size=4096):
    """A product whose operands are transposed or not, as BLAS counts: `n` times `t` is contiguous along K on both sides."""
    a, c = f"tensor<{size}x{size}x{element}>", f"tensor<{size}x{size}xbf16>"
    return (f"func.func @main(%a: {a}, %b: {a}) -> {c} {{\n"
            f"  %d = stablehlo.dot_general %a, %b, contracting_dims = [{'tn'.index(order[0])}] x [{'nt'.index(order[1])}]"
            f" {{mhlo.frontend_attributes = {{tilewright = \"{hint}\"}}}} : ({a}, {a}) -> {c}\n  return %d : {c}\n}}\n")  # fmt: skip


def attention(element, width, heads=16, size=4096):
    """Full attention, with scores scaled by a constant."""
    x, s, r = f"{heads}x{size}x{width}x{element}", f"{heads}x{size}x{size}xf32", f"{heads}x{size}xf32"
    return (f"func.func @main(%q: tensor<{x}>, %k: tensor<{x}>, %v: tensor<{x}>) -> tensor<{x}> {{\n"
            f"  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            f"  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
            f"  %scale = stablehlo.constant dense<{width**-0.5}> : tensor<{s}>\n"
            f"  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{x}>, tensor<{x}>) -> tensor<{s}>\n"
            f"  %s = stablehlo.multiply %x, %scale : tensor<{s}>\n"
            f"  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<{s}>, tensor<f32>) -> tensor<{r}>\n"
            f"  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<{r}>) -> tensor<{s}>\n"
            f"  %d = stablehlo.subtract %s, %mb : tensor<{s}>\n"
            f"  %e = stablehlo.exponential %d : tensor<{s}>\n"
            f"  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{s}>, tensor<f32>) -> tensor<{r}>\n"
            f"  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<{r}>) -> tensor<{s}>\n"
            f"  %p = stablehlo.divide %e, %lb : tensor<{s}>\n"
            f"  %w = stablehlo.convert %p : (tensor<{s}>) -> tensor<{heads}x{size}x{size}x{element}>\n"
            f"  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{heads}x{size}x{size}x{element}>, tensor<{x}>) -> tensor<{x}>\n"
            f"  return %o : tensor<{x}>\n}}\n")  # fmt: skip


def compiled(folder, program, chip):
    """The instructions of a program's kernel with their addresses, and what its note says."""
    (folder / "gemm.mlir").write_text(program)
    tool("compile", folder / "gemm.mlir", f"--target={chip}", f"--output={folder}/gemm.twx", f"--code={folder}/gemm")
    [code] = [path for path in folder.iterdir() if path.suffix in (".hsaco", ".co")]
    found = re.findall(r"^\s+(\S[^\n]*?)\s*// ([0-9A-F]+):((?: [0-9A-F]{8})+)", tool("vgpu", "disassemble", code), re.M)
    return [(int(at, 16), text, 4 * len(words.split())) for text, at, words in found], tool("vgpu", "disassemble", "--kernels", code)


Loop = collections.namedtuple("Loop", "lines products occupancy names waits")


def steady_loop(code):
    """The shortest loop with matrix instructions. Its occupancy is the share of issue slots beside them that other instructions of the wave take: an
    instruction of 16x16 keeps the matrix unit for 4 slots, one of 32x32 and half the depth for 8; the first of them is its own."""
    at, loops = {address: index for index, (address, _, _) in enumerate(code)}, []
    for index, (address, text, size) in enumerate(code):
        if found := re.match(r"s_c?branch\S*\s+(\d+)", text):
            words = int(found[1]) - (1 << 16 if int(found[1]) >= 1 << 15 else 0)
            first = at.get(address + size + 4 * words, index + 1)
            lines = [line for _, line, _ in code[first : index + 1]]
            if any("v_mfma" in line for line in lines):
                loops.append(lines)
    lines = min(loops, key=len)
    products = [line for line in lines if "v_mfma" in line]
    assert all(re.search("16x16x(16|32)|32x32x(8|16)", line) for line in products), products
    free = sum(7 if "32x32x" in line else 3 for line in products)
    names = collections.Counter(line.split()[0] for line in lines)
    return Loop(lines, len(products), (len(lines) - len(products)) / free, names, [line for line in lines if "waitcnt" in line])


@pytest.mark.parametrize("order", ["nt", "nn"])
@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_loads_of_gfx950_go_past_registers_and_stay_in_flight(tmp_path, element, order):
    """A wave multiplies 64 x 128 of the tile. Triton 3.9 issues 0.67 (and spills 130 registers), IREE 3.13 0.74 for both operands along K."""
    code, note = compiled(tmp_path, gemm(element, order, "tile=256x256"), "gfx950")
    loop = steady_loop(code)
    limit = {"nt": 0.35, "nn": 0.46}[order]  # fragments that are transposed are read with two instructions
    assert loop.products == 64 and loop.occupancy <= limit, (loop.occupancy, loop.names)
    assert loop.names["buffer_load_dwordx4"] == 8 and not any("scratch" in name for name in loop.names), loop.names
    assert any("vmcnt" in wait for wait in loop.waits) and not any("vmcnt(0)" in wait for wait in loop.waits), loop.waits
    assert "spilled: 0 VGPRs, 0 SGPRs" in note and " 0 bytes of scratch" in note, note


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_loads_of_gfx942_are_behind_the_products_of_a_step(tmp_path, element):
    """Triton 3.9 issues 0.20, IREE 3.13 0.31."""
    code, note = compiled(tmp_path, gemm(element, "nt", "tile=256x256"), "gfx942")
    loop = steady_loop(code)
    assert loop.products == 128 and loop.occupancy <= 0.20, (loop.occupancy, loop.names)
    assert loop.names["buffer_load_dwordx4"] == 8 and loop.names["ds_write_b128"] == 8, loop.names
    assert "spilled: 0 VGPRs, 0 SGPRs" in note, note


# O of the steady loop, in which sums are not rescaled.
ATTENTION = {("gfx950", 128): 1.03, ("gfx950", 64): 1.71, ("gfx942", 128): 1.57, ("gfx942", 64): 2.55}


@pytest.mark.parametrize("chip, width", ATTENTION)
def test_attention_keeps_its_tiles_in_registers(tmp_path, chip, width):
    """For a head of 128, Triton 3.9 issues 1.34 on gfx950. No wave waits for the loads of the next block where it multiplies."""
    code, note = compiled(tmp_path, attention("bf16", width), chip)
    loop = steady_loop(code)
    assert loop.products * (64 if chip == "gfx950" else 32) == 16 * width and loop.occupancy <= ATTENTION[chip, width], (loop.occupancy, loop.names)
    assert all("32x32x" in line for line in loop.lines if "v_mfma" in line)
    assert not any("scratch" in name or "accvgpr" in name for name in loop.names), loop.names
    assert "spilled: 0 VGPRs, 0 SGPRs" in note and " 0 bytes of scratch" in note, note
