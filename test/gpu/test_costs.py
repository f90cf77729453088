"""The cost model's figures for a product's kernel are what the kernel does: tiles, bytes from L2 and shared memory, multiply-adds.

The tile is chosen by these figures (transform/tile/pipeline/Gemm.cpp), and `tilewright explain kernels` prints them. Here the
virtual GPU counts them in the same kernels. Nothing is timed; the counts are exact.
"""

import json
import math
import re

import numpy as np
import pytest
import test_quality


def gemm(m, n, k, element="f16", result="f32"):
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{n}x{k}x{element}>", f"tensor<{m}x{n}x{result}>"
    return (f"func.func @main(%a: {a}, %b: {b}) -> {c} {{\n  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : ({a}, {b}) -> {c}\n"
            f"  return %d : {c}\n}}\n", [f"{m}x{k}x{element}=1", f"{n}x{k}x{element}=1"])  # fmt: skip


# Chip, m, n, k, element, multiprocessors to compile for (0: all). Sizes are multiples of every tile, so nothing is
# padded.
PRODUCTS = {
    "hopper": ("sm_90a", 512, 512, 256, "f16", 0),
    "hopper, few processors": ("sm_90a", 512, 512, 128, "bf16", 4),
    "hopper, f8": ("sm_90a", 256, 512, 512, "f8E4M3FN", 4),
    "ampere": ("sm_80", 512, 256, 128, "f16", 0),
    "ampere, few processors": ("sm_80", 512, 256, 128, "bf16", 4),
}


@pytest.fixture(params=PRODUCTS)
def measured(request, tmp_path):
    """The cost model's remarks on a product's kernel, and the counts of the virtual GPU."""
    chip, m, n, k, element, processors = PRODUCTS[request.param]
    program, inputs = gemm(m, n, k, element)
    (tmp_path / "program.mlir").write_text(program)
    options = [f"--compile.processors={processors}"]
    said = test_quality.tool("explain", "kernels", tmp_path / "program.mlir", f"--target={chip}", *options)
    test_quality.tool("run", tmp_path / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", f"--target=vgpu:{chip}", *options,
                      TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_COUNTS=str(tmp_path / "counts"))  # fmt: skip
    reports = [json.loads(file.read_text()) for file in (tmp_path / "counts").glob("*.counts.json")]
    assert len(reports) == 1, "a product is one kernel"
    return said, reports[0], (m, n, k)


def number(pattern, said):
    found = re.search(pattern, said)
    assert found, f"'{pattern}' is not in\n{said}"
    return [int(group.replace(",", "")) for group in found.groups()]


def test_the_cost_says_what_the_kernel_does(measured):
    said, report, (m, n, k) = measured
    total = report["total"]
    # Every multiply-add is computed exactly once.
    assert sum(total["multiply_adds"].values()) == m * n * k, total["multiply_adds"]

    # Each tile is computed once: there are as many clusters as tiles, or in a persistent kernel one for each
    # multiprocessor.
    tiles, slots = number(r"([\d,]+) tiles on ([\d,]+) multiprocessors", said)
    blocks = report["grid"][0] * report["grid"][1] * report["grid"][2]
    assert blocks == (min(tiles, slots) if "compute one tile after the other" in said else tiles), said

    # Bytes of the operands that multiprocessors load: the cost is in products for each byte, truncated to an integer.
    (each,) = number(r"([\d,]+) products for each byte that a multiprocessor loads", said)
    # Bytes of TMA are counted as asynchronous; cp.async counts as an access of its thread.
    loaded = total["async_global_bytes"] or total["global_read_bytes"]
    print(f"{tiles} tiles, {loaded} bytes loaded, said are {each} products for each: {m * n * k / each:.0f}")
    assert m * n * k / (each + 1) < loaded <= m * n * k / each, said
    shared = re.search(r"each iteration reads (\d+) bytes from L2 instead of (\d+)", said)
    assert bool(shared) == (max(report["cluster"]) > 1)
    if shared:
        # With multicast, every iteration of every tile reads exactly the bytes that the cost model says.
        iterations, rest = divmod(loaded, tiles * int(shared[1]))
        assert rest == 0 and k % iterations == 0 and int(shared[1]) < int(shared[2]), said

    # Bytes of shared memory that warps read for their fragments.
    warps = re.search(r"(\d+) warps in \d+ rows and \d+ columns multiply (\d+)x(\d+) each, so each reads (\d+) bytes of an iteration's operands", said)
    assert bool(warps) == (report["chip"] == "sm_80")
    if warps:
        count, rows, columns, each = map(int, warps.groups())
        iterations = k // (each // (2 * (rows + columns)))
        print(f"{total['shared_read_bytes']} bytes of fragments read")
        assert total["shared_read_bytes"] == tiles * iterations * count * each, said
        assert total["bank_conflicts"] == 0


def test_weights_of_a_skinny_product_are_read_once(tmp_path):
    """Few rows: the product is memory-bound, so every weight must be loaded only once."""
    m, n, k = 16, 2048, 512
    program, inputs = gemm(m, n, k)
    (tmp_path / "program.mlir").write_text(program)
    test_quality.tool("run", tmp_path / "program.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", "--target=vgpu:sm_90a",
                      TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_COUNTS=str(tmp_path / "counts"))  # fmt: skip
    total = json.loads(next((tmp_path / "counts").glob("*.counts.json")).read_text())["total"]
    weights, rows = 2 * n * k, 2 * m * k
    read = total["async_global_bytes"] + total["global_read_bytes"]
    print(f"{read} bytes read, {weights} of weights")
    # The rest is the rows, once for each tile of at least 64 columns.
    assert weights + rows <= read <= weights + rows * (n // 64) * 4


NAMED = {
    "HIGH": (3, "precision = [HIGH, HIGH]"),
    "HIGHEST": (6, "precision = [HIGHEST, HIGHEST]"),
    "X9": (9, "algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, "
              "rhs_component_count = 1, num_primitive_operations = 9, allow_imprecise_accumulation = false>"),
}  # fmt: skip


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_a_product_of_parts_has_the_instructions_of_its_products(chip, named, tmp_path):
    """f32 of high precision is one product of bf16: for each product of the definition, the multiply-adds of a plain one. Its kernel executes the
    same instructions as a plain product of that depth, so the loop is the same."""
    products, words = NAMED[named]
    m, n, k = 128, 128, 128

    def counted(name, program, inputs):
        (tmp_path / f"{name}.mlir").write_text(program)
        # With several threads, waits that spin are counted as often as they spin.
        test_quality.tool("run", tmp_path / f"{name}.mlir", *(f"--input={i}" for i in inputs), f"--output={tmp_path}/o", f"--target=vgpu:{chip}",
                          TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_COUNTS=str(tmp_path / name), TILEWRIGHT_VGPU_THREADS="1")  # fmt: skip
        totals = [json.loads(file.read_text())["total"] for file in (tmp_path / name).glob("*.counts.json")]
        (kernel,) = [total for total in totals if total["multiply_adds"]]
        return kernel, len(totals)

    plain, _ = counted("plain", *gemm(m, n, k, "bf16"))
    deep, _ = counted("deep", *gemm(m, n, products * k, "bf16"))
    program, inputs = gemm(m, n, k, "f32")
    parts, kernels = counted("parts", program.replace("contracting_dims = [1] x [1]", f"contracting_dims = [1] x [1], {words}"), inputs)
    assert kernels == 3, "the parts of each operand, and one product"
    assert parts["multiply_adds"] == {kind: products * count for kind, count in plain["multiply_adds"].items()}
    assert sum(plain["multiply_adds"].values()) == m * n * k
    print(f"{parts['by_class']['matrix']} matrix instructions, {plain['by_class']['matrix']} in the plain product")
    assert parts["by_class"] == deep["by_class"]


# Chip, m, n, k: products whose tiles occupy few multiprocessors.
FEW_TILES = {"hopper, square": ("sm_90a", 128, 128, 16384), "hopper, wide": ("sm_90a", 64, 512, 8192),
             "ampere, square": ("sm_80", 128, 128, 16384), "ampere, wide": ("sm_80", 64, 512, 8192)}  # fmt: skip


@pytest.mark.parametrize("name", FEW_TILES)
def test_a_product_with_few_tiles_is_split_along_k(name, tmp_path):
    """The pieces occupy the chip, each byte of partial sums is written once, and two runs give the same bits."""
    chip, m, n, k = FEW_TILES[name]
    program, _ = gemm(m, n, k, "f16", "f16")
    (tmp_path / "program.mlir").write_text(program)
    random = np.random.default_rng(3)
    for side, rows in ("a", m), ("b", n):
        np.save(tmp_path / f"{side}.npy", random.uniform(-1, 1, (rows, k)).astype(np.float16))
    said = test_quality.tool("explain", "fusion", tmp_path / "program.mlir", f"--target={chip}")
    whole, units, pieces, _, after, before = number(
        r"has ([\d,]+) tiles for ([\d,]+) multiprocessors and is split along K: ([\d,]+) pieces have ([\d,]+) tiles and take about ([\d,]+) "
        r"cycles instead of ([\d,]+)", said)  # fmt: skip
    assert 1.25 * after <= before

    results = []
    for order in "eager", "seed:5":
        test_quality.tool("run", tmp_path / "program.mlir", f"--input={tmp_path}/a.npy", f"--input={tmp_path}/b.npy", f"--output={tmp_path}/{order}",
                          f"--target=vgpu:{chip}", TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_ORDER=order,
                          TILEWRIGHT_VGPU_COUNTS=str(tmp_path / f"counts-{order}"))  # fmt: skip
        results.append(b"".join(file.read_bytes() for file in sorted(tmp_path.glob(f"{order}*.npy"))))
    assert results[0] and results[0] == results[1]

    reports = [json.loads(file.read_text()) for file in (tmp_path / "counts-eager").glob("*.counts.json")]
    (product,) = [r for r in reports if r["total"]["multiply_adds"]]
    (total,) = [r for r in reports if not r["total"]["multiply_adds"]]
    blocks = math.prod(product["grid"])
    print(f"{name}: {pieces} pieces, {blocks} blocks on {units} multiprocessors instead of {whole}")
    assert sum(product["total"]["multiply_adds"].values()) >= m * n * k
    assert units / 2 <= blocks <= 2 * units, said
    partial = 4 * pieces * m * n
    assert product["total"]["global_write_bytes"] == partial
    # The sum's tile of 32 columns is so small that on sm_90a two warps hold, and load, the same elements.
    assert partial <= total["total"]["global_read_bytes"] <= 2 * partial
    assert total["total"]["global_write_bytes"] == 2 * m * n
