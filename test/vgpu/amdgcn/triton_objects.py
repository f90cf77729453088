"""Compiles Triton kernels to code objects: python triton_objects.py FOLDER [--sample]

A file beside each object has the bytes of LDS that a launch must pass.

Needs triton==3.9.0, no GPU and no torch. Most kernels are those that ../ptx/triton compiles to PTX.
"""

import json
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ptx/triton"))
import kernels  # noqa: E402


@triton.jit
def matmul_scaled(
    a, scales_a, b, scales_b, c, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
    PACK_A: tl.constexpr, PACK_B: tl.constexpr,
):  # fmt: skip
    """A block-scaled product: one scale for 32 elements of a row of `a` or a column of `b`."""
    rows, cols = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    ka, kb, ks = tl.arange(0, BK // PACK_A), tl.arange(0, BK // PACK_B), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        x = tl.load(a + rows[:, None] * (k // PACK_A) + (step // PACK_A + ka)[None, :])
        y = tl.load(b + cols[None, :] * (k // PACK_B) + (step // PACK_B + kb)[:, None])
        sx = tl.load(scales_a + rows[:, None] * (k // 32) + (step // 32 + ks)[None, :])
        sy = tl.load(scales_b + cols[:, None] * (k // 32) + (step // 32 + ks)[None, :])
        acc = tl.dot_scaled(x, sx, A, y, sy, B, acc)
    tl.store(c + rows[:, None] * n + cols[None, :], acc.to(tl.bfloat16))


@triton.jit
def elementwise(x, y, z, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v, w = tl.load(x + i), tl.load(y + i)
    t = tl.exp(v) + tl.log(tl.abs(v) + 1) + tl.sqrt(tl.abs(v)) + tl.cos(v) + tl.math.floor(v) / tl.math.ceil(v + 2)
    bits = (w * 3) // 7 + (w % 5) - (w >> 2) ^ (w & 0xFF) | tl.umulhi(w, w)
    tl.store(z + i, tl.where(bits > 0, t, v.to(tl.float16).to(tl.float32)) + bits.to(tl.float32))


@triton.jit
def transpose(x, y, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=(i < rows)[:, None] & (j < columns)[None, :])
    tl.store(y + j[:, None] * rows + i[None, :], tile.T, mask=(j < columns)[:, None] & (i < rows)[None, :])


LOCAL = {"matmul_scaled": matmul_scaled, "elementwise": elementwise, "transpose": transpose}

# name, signature, constants, warps, stages. FP8 and BF8 stand for the type of the chip.
FORMS = [
    ("vector_add", "*fp32 *fp32 *fp32 i32", dict(BLOCK=1024), 4, 2),
    ("matmul", "*bf16 *bf16 *bf16 i32 i32 i32", dict(BM=128, BN=128, BK=64), 4, 2),
    ("vector_add", "*bf16 *bf16 *bf16 i32", dict(BLOCK=256), 4, 2),
    ("vector_add", "*fp64 *fp64 *fp64 i32", dict(BLOCK=512), 4, 2),
    ("softmax", "*fp32 *fp32 i32", dict(BLOCK=4096), 8, 2),
    ("softmax", "*bf16 *bf16 i32", dict(BLOCK=1024), 4, 2),
    ("layer_norm", "*fp16 *fp16 *fp16 *fp16 i32 fp32", dict(BLOCK=1024), 4, 2),
    ("layer_norm", "*fp32 *fp32 *fp32 *fp32 i32 fp32", dict(BLOCK=8192), 8, 2),
    ("elementwise", "*fp32 *i32 *fp32", dict(BLOCK=512), 4, 2),
    ("transpose", "*fp16 *fp16 i32 i32", dict(BM=64, BN=64), 4, 2),
    ("histogram_and_scan", "*i32 *i32 *i32", dict(BLOCK=512, BINS=64), 4, 2),
    ("dropout", "*fp32 *fp32 i32 fp32 i32", dict(BLOCK=512), 4, 2),
    ("matmul", "*fp16 *fp16 *fp16 i32 i32 i32", dict(BM=256, BN=256, BK=64), 8, 2),
    ("matmul", "*bf16 *bf16 *bf16 i32 i32 i32", dict(BM=256, BN=256, BK=64), 8, 2),
    ("matmul", "*bf16 *bf16 *fp32 i32 i32 i32", dict(BM=256, BN=256, BK=32), 8, 3),
    ("matmul", "*fp32 *fp32 *fp32 i32 i32 i32", dict(BM=128, BN=128, BK=32), 4, 2),
    ("matmul", "*FP8 *FP8 *fp16 i32 i32 i32", dict(BM=256, BN=256, BK=128), 8, 2),
    ("matmul", "*BF8 *BF8 *fp16 i32 i32 i32", dict(BM=128, BN=128, BK=128), 4, 2),
    ("matmul", "*fp16 *fp16 *fp32 i32 i32 i32", dict(BM=64, BN=32, BK=32), 2, 1),
    ("matmul_int8", "*i8 *i8 *i32 i32 i32", dict(BM=256, BN=256, BK=128), 8, 2),
    ("matmul_int8", "*i8 *i8 *i32 i32 i32", dict(BM=128, BN=128, BK=64), 4, 2),
    ("matmul_device_tma", "*fp16 *fp16 *fp16 i32 i32 i32", dict(BM=256, BN=256, BK=64), 8, 2),
    ("matmul_device_tma", "*fp16 *fp16 *fp16 i32 i32 i32", dict(BM=128, BN=128, BK=64), 4, 3),
    ("attention", "*fp16 *fp16 *fp16 *fp16 i32 fp32", dict(D=128, BM=128, BN=64), 4, 2),
    ("attention", "*bf16 *bf16 *bf16 *bf16 i32 fp32", dict(D=128, BM=128, BN=64), 4, 2),
    ("attention", "*bf16 *bf16 *bf16 *bf16 i32 fp32", dict(D=64, BM=64, BN=64), 4, 2),
    ("attention", "*fp16 *fp16 *fp16 *fp16 i32 fp32", dict(D=64, BM=128, BN=128), 8, 1),
    (
        "matmul_scaled", "*fp8e4nv *u8 *fp8e4nv *u8 *bf16 i32 i32",
        dict(BM=128, BN=128, BK=128, A="e4m3", B="e4m3", PACK_A=1, PACK_B=1), 4, 2,
    ),
    (
        "matmul_scaled", "*u8 *u8 *u8 *u8 *bf16 i32 i32",
        dict(BM=128, BN=128, BK=256, A="e2m1", B="e2m1", PACK_A=2, PACK_B=2), 4, 2,
    ),
    (
        "matmul_scaled", "*fp8e4nv *u8 *u8 *u8 *bf16 i32 i32",
        dict(BM=64, BN=128, BK=128, A="e4m3", B="e2m1", PACK_A=1, PACK_B=2), 4, 2,
    ),
]  # fmt: skip
SAMPLE = 2  # the first forms are compiled with every change
CHIPS = {"gfx942": dict(FP8="fp8e4b8", BF8="fp8e5b16"), "gfx950": dict(FP8="fp8e4nv", BF8="fp8e5")}


def compile_form(name, signature, constants, warps, stages, chip):
    function = LOCAL.get(name) or getattr(kernels, name)
    names = function.arg_names
    for word, kind in CHIPS[chip].items():
        signature = signature.replace(word, kind)
    types = signature.split()
    types += ["constexpr"] * (len(names) - len(types))
    attributes = {}
    for i, kind in enumerate(types):
        if kind.startswith("*"):  # 32-bit ranges make Triton use buffer instructions
            attributes[(i,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
        elif kind == "i32":
            attributes[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(
        fn=function,
        signature=dict(zip(names, types)),
        constexprs={(names.index(key),): value for key, value in constants.items()},
        attrs=attributes,
    )
    options = {"num_warps": warps, "num_stages": stages}
    return triton.compile(source, target=GPUTarget("hip", chip, 64), options=options)


def main(folder, forms):
    folder.mkdir(parents=True, exist_ok=True)
    for index, form in enumerate(forms):
        for chip in CHIPS:
            path, kernel = folder / f"{index:02}-{form[0]}-{chip}.hsaco", compile_form(*form, chip)
            path.write_bytes(kernel.asm["hsaco"])
            path.with_suffix(".json").write_text(json.dumps({"shared": kernel.metadata.shared}))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), FORMS[:SAMPLE] if "--sample" in sys.argv[2:] else FORMS)
