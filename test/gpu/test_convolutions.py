"""Convolutions by the copy engines: what they read, and what their loops cost beside a product of the same sizes. Counted, not timed.

A convolution is a product whose rows are output positions: a tile has Tn x Th x Tw of them, and each iteration multiplies one tap of 64 input
features. The ideal is what such a tile must read: for each tile and tap, each input element that is inside of the image and each
weight, once. Overlapping windows of one tile are read again for each tap, from L2, as in every implicit product.
"""

import json
import math
import re

import pytest
import test_quality
from machine_code import machine_code, steady_loop


def convolution(batch, size=56, inputs=256, outputs=256, element="bf16"):
    x, w, y = f"{batch}x{size}x{size}x{inputs}x{element}", f"3x3x{inputs}x{outputs}x{element}", f"tensor<{batch}x{size}x{size}x{outputs}x{element}>"
    return (f"func.func @main(%x: tensor<{x}>, %w: tensor<{w}>) -> {y} {{\n"
            f"  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{pad = [[1, 1], [1, 1]]}} "
            f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<{x}>, tensor<{w}>) -> {y}\n  return %r : {y}\n}}\n",
            [f"{x}=0.5", f"{w}=0.5"])  # fmt: skip


def product(m, n, k, element="bf16"):
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}x{element}>"
    return (f"func.func @main(%a: {a}, %b: {b}) -> {c} {{\n  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({a}, {b}) -> {c}\n"
            f"  return %d : {c}\n}}\n")  # fmt: skip


def ideal_bytes(batch, size, inputs, outputs, rows, columns):
    """The bytes that tiles of `rows` positions and `columns` features must read: each input element that a tap sees inside of the image for each tile of
    columns, and each weight for each tile of rows."""
    seen = (3 * size - 2) ** 2  # of the nine taps at all positions of an image
    return 2 * inputs * (batch * seen * math.ceil(outputs / columns) + 9 * outputs * batch * size * size // rows)


@pytest.mark.parametrize("chip", ["sm_90a", "sm_80"])
def test_a_tile_reads_what_it_multiplies_and_nothing_else(chip, tmp_path):
    batch, size, features = 2, 56, 256 if chip == "sm_90a" else 128
    program, inputs = convolution(batch, size, features, features)
    (tmp_path / "program.mlir").write_text(program)
    # Few multiprocessors, so that few images have the tiles of many.
    options = ["--compile.processors=16"]
    said = test_quality.tool("explain", "kernels", tmp_path / "program.mlir", f"--target={chip}", *options)
    test_quality.tool("run", tmp_path / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", f"--target=vgpu:{chip}", *options,
                      TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_COUNTS=str(tmp_path / "counts"))  # fmt: skip
    (report,) = [json.loads(file.read_text()) for file in (tmp_path / "counts").glob("*.counts.json")]
    total, positions = report["total"], batch * size * size
    # Every multiply-add is computed exactly once: 56 is a multiple of 8, so no tile is partial.
    assert sum(total["multiply_adds"].values()) == positions * features * 9 * features
    # The tile of a CTA, and of a cluster, whose CTAs share what they read.
    if chip == "sm_90a":
        test_quality.tool("compile", tmp_path / "program.mlir", f"--target={chip}", f"--output={tmp_path}/p.twx", f"--code={tmp_path}/p", *options)
        columns = int(re.search(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16", (tmp_path / "p.ptx").read_text())[1])
        tiles = int(re.search(r"([\d,]+) tiles on", said)[1].replace(",", ""))
        rows = positions * features // tiles // columns
        if shared := re.search(r"(\d+) multiprocessors share the (rows|columns) of their tiles", said):
            rows, columns = (rows * int(shared[1]), columns) if shared[2] == "columns" else (rows, columns * int(shared[1]))
    else:
        down, across, rows, columns = map(int, re.search(r"warps in (\d+) rows and (\d+) columns multiply (\d+)x(\d+) each", said).groups())
        rows, columns = down * rows, across * columns
    ideal = ideal_bytes(batch, size, features, features, rows, columns)
    # The copy engine's own stores are asynchronous, too.
    written = 2 * positions * features
    if chip == "sm_90a":
        assert total["global_read_bytes"] == 0, "the copy engine loads all"
        read = 32 * total["async_global_sectors"] - (0 if total["global_write_bytes"] else written)
    else:
        assert total["async_global_bytes"] == 0
        read = 32 * total["global_sectors"] - total["global_write_bytes"]
    print(f"{chip}: tiles of {rows}x{columns}, {read} bytes of sectors read, ideally {ideal}: {read / ideal:.4f}")
    assert ideal <= read <= 1.05 * ideal, said
    # Warps of sm_80 exchange their results for whole sectors, as those of any product: one conflict for each line of 128 bytes.
    assert total["bank_conflicts"] <= (0 if chip == "sm_90a" else written // 128)


@pytest.mark.parametrize("chip, batch", [("sm_90a", 16), ("sm_80", 8)])
def test_the_steady_loop_is_that_of_a_product(chip, batch, tmp_path):
    """Beside a product of the same rows, columns and depth. On sm_90a, other warps issue the copies, so the loops are the same. On sm_80 the loop itself
    computes where a tap's pixels are and which of them are outside."""
    ours = steady_loop(machine_code(tmp_path, "convolution", convolution(batch)[0], chip, test_quality.tool))
    plain = steady_loop(machine_code(tmp_path, "product", product(batch * 56 * 56, 256, 9 * 256), chip, test_quality.tool))
    print(f"{chip}, {batch} images: {ours.instructions} instructions and {ours.cycles} issue cycles in the loop; of the product {plain}")
    assert ours.products == plain.products
    assert ours.cycles <= 1.15 * plain.cycles
    assert ours.instructions <= (1.15 if chip == "sm_90a" else 1.35) * plain.instructions
