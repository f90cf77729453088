"""Kernels of ours beside those of Triton, compiled without a GPU and read back from machine code.

    python -m bench.gpu.peers --sass sass.py

The figure is the issue cycles of the steady-state loop for each cycle that the tensor cores need for its matrix instructions: how much of
the time the warps that issue them are busy doing so. `sass.py` reads it from the control words of a cubin, with the nvdisasm on PATH or
in Triton's wheel. CPU seconds are ours without ptxas, and Triton's with it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/release")) / "bin/tilewright"
PRODUCTS_PER_CYCLE = {"f16": 2048, "e4m3": 4096}  # multiply-adds of one processor of an H100

OURS = {
    "gemm f16": """
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
  return %d : tensor<4096x4096xf16>
}""",
    "gemm e4m3": """
func.func @main(%a: tensor<4096x4096xf8E4M3FN>, %b: tensor<4096x4096xf8E4M3FN>) -> tensor<4096x4096xf16> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>) -> tensor<4096x4096xf16>
  return %d : tensor<4096x4096xf16>
}""",
    "softmax f32 4096x1024": """
func.func @main(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1024xf32>
  %d = stablehlo.subtract %x, %mb : tensor<4096x1024xf32>
  %e = stablehlo.exponential %d : tensor<4096x1024xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1024xf32>
  %r = stablehlo.divide %e, %sb : tensor<4096x1024xf32>
  return %r : tensor<4096x1024xf32>
}""",
}


def ours(name, folder):
    source = folder / "ours.mlir"
    source.write_text(OURS[name])
    began = os.times()
    subprocess.run([TOOL, "compile", source, f"--output={folder}/ours.twx", "--target=vgpu:sm_90a"], check=True, capture_output=True)
    ended = os.times()
    # Once more with ptxas, which is not ours to answer for.
    subprocess.run([TOOL, "compile", source, f"--output={folder}/ours.twx", "--target=sm_90a", f"--code={folder}/ours"], check=True,
                   capture_output=True)  # fmt: skip
    seconds = ended.children_user - began.children_user + ended.children_system - began.children_system
    return (folder / "ours.cubin").read_bytes(), seconds


def triton_kernels():
    """The matmul and the softmax of Triton's tutorials' kind, with the configurations that the tutorials try on Hopper."""
    import triton
    import triton.language as tl

    @triton.jit
    def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
        pid = tl.program_id(0)
        rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
        group = pid // (G * columns)
        first = group * G
        size = min(rows - first, G)
        m = first + (pid % (G * columns)) % size
        n = (pid % (G * columns)) // size
        om, on, ok = (m * BM + tl.arange(0, BM)) % M, (n * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
        pa, pb = a + om[:, None] * sam + ok[None, :] * sak, b + ok[:, None] * sbk + on[None, :] * sbn
        sum = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            sum = tl.dot(tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0), tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0), sum)
            pa += BK * sak
            pb += BK * sbk
        om, on = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
        tl.store(c + om[:, None] * scm + on[None, :] * scn, sum.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))

    @triton.jit
    def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
        m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
        da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
        db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
        dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
        sum = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=WS):
            sum = tl.dot(da.load([m, k * BK]), db.load([n, k * BK]).T, sum)
        dc.store([m, n], sum.to(tl.float16))

    @triton.jit
    def softmax(y, x, stride, columns, BLOCK: tl.constexpr):
        row, at = tl.program_id(0), tl.arange(0, BLOCK)
        value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
        power = tl.exp(value - tl.max(value, axis=0))
        tl.store(y + row * stride + at, power / tl.sum(power, axis=0), mask=at < columns)

    return matmul, matmul_tma, softmax


def triton_compile(function, signature, constants, **options):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    began = time.process_time()
    # A divisor of 16 is what the launcher would find out from these sizes.
    names = list(signature)
    divisible = {(names.index(n),): [["tt.divisibility", 16]] for n in names if signature[n] != "constexpr" and n not in ("sak", "sbk", "scn")}
    source = ASTSource(function, signature, constants, attrs=divisible)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"ptx_version": 90, **options})
    return made.asm["cubin"], time.process_time() - began


def tritons(name):
    """All configurations: (what, cubin, CPU seconds)."""
    matmul, matmul_tma, softmax = triton_kernels()
    if name.startswith("softmax"):
        yield "softmax", *triton_compile(softmax, {"y": "*fp32", "x": "*fp32", "stride": "i32", "columns": "i32", "BLOCK": "constexpr"},
                                         {"BLOCK": 1024}, num_warps=4)  # fmt: skip
        return
    element, depth = ("fp16", 64) if name.endswith("f16") else ("fp8e4nv", 128)
    pointers = {"a": f"*{element}", "b": f"*{element}", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
    strides = {s: "i32" for s in ("sam", "sbn", "scm")} | {s: "constexpr" for s in ("sak", "sbk", "scn")}
    order = ["sam", "sak", "sbk", "sbn", "scm", "scn"]
    for m, n, warps, stages in ((128, 256, 8, 3), (128, 128, 4, 4), (64, 256, 4, 4)):
        sizes = {"BM": m, "BN": n, "BK": depth}
        signature = pointers | {s: strides[s] for s in order} | dict.fromkeys([*sizes, "G"], "constexpr")
        constants = sizes | {"G": 8, "sak": 1, "sbk": 1, "scn": 1}
        yield f"cp.async {m}x{n}", *triton_compile(matmul, signature, constants, num_warps=warps, num_stages=stages)
    for m, n, warps, stages, special in ((128, 256, 8, 3, False), (128, 128, 4, 4, False), (128, 256, 4, 3, True)):
        sizes = {"BM": m, "BN": n, "BK": depth}
        signature = pointers | dict.fromkeys([*sizes, "WS"], "constexpr")
        what = f"TMA {m}x{n}{' warp-specialised' if special else ''}"
        yield what, *triton_compile(matmul_tma, signature, sizes | {"WS": special}, num_warps=warps, num_stages=stages)


def read(cubin, folder, sass):
    file = folder / "kernel.cubin"
    file.write_bytes(cubin)
    import triton

    wheel = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin"
    path = os.pathsep.join([os.environ["PATH"], str(wheel)])
    return json.loads(subprocess.run([sys.executable, sass, file], capture_output=True, text=True, check=True, env=os.environ | {"PATH": path}).stdout)


def ratio(facts, element):
    """Issue cycles for each tensor cycle of the loop with matrix instructions that costs least; nothing without one."""
    best = None
    for loop in facts["loops_with_mma"]:
        shapes = [key for key in facts["mix"] if key.startswith(("HGMMA", "QGMMA"))]
        if not shapes or not loop["mma"]:
            continue
        m, n, k = map(int, shapes[0].split(".")[1].split("x"))
        cycles = loop["mma"] * m * n * k / PRODUCTS_PER_CYCLE[element]
        value = loop["min_issue"] / cycles
        best = value if best is None else min(best, value)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sass", required=True, help="the script that reads cubins")
    arguments = parser.parse_args()
    # What was compiled before takes no time.
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="triton-")
    print(f"{'kernel':24} {'by':32} {'CPU s':>7} {'instrs':>7} {'issue/tensor':>13} {'LDL+STL':>8}")
    for name in OURS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            rows = [("ours", *ours(name, folder))]
            rows += [(f"Triton 3.9, {what}", cubin, seconds) for what, cubin, seconds in tritons(name)]
            for who, cubin, seconds in rows:
                facts = read(cubin, folder, arguments.sass)
                value = ratio(facts, name.split()[1]) if name.startswith("gemm") else None
                local = sum(count for key, count in facts["mix"].items() if key.startswith(("LDL", "STL")))
                shown = "" if value is None else f"{value:.2f}"
                print(f"{name:24} {who:32} {seconds:7.2f} {facts['ninst']:7} {shown:>13} {local:8}")


if __name__ == "__main__":
    main()
