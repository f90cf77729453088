"""Our kernels beside those of Triton, CuTe DSL, cuTile and CUTLASS, compiled without a GPU and read back from machine code.

    pip install triton==3.9.0 nvidia-cutlass-dsl 'cuda-tile[tileiras]' nvidia-cutlass
    python -m bench.gpu.peers --sass sass.py --cute-examples cutlass/examples/python/CuTeDSL/cute/hopper/kernel/dense_gemm
    python -m bench.gpu.peers --sass sass.py --only sm_100a --cute-examples cutlass/examples/python/CuTeDSL/blackwell

The figure is the issue cycles of the steady-state loop divided by the cycles that the tensor cores need for its matrix instructions: how
much of the time the warps that issue these instructions are busy doing so. `sass.py` reads it from the control words of a cubin, with the
nvdisasm on PATH or in Triton's wheel. With tensor memory one thread issues the products of a multiprocessor, or of two; `live` are its registers
that are in use at once, and `registers` are those that every thread of the kernel has. A matrix instruction of a single warp (sm_80) blocks that warp while it runs, so there 1 is the
tensor core's own rate. For attention, it is the instructions and the issue cycles of the loop; two warpgroups share the issue slots. CPU seconds are ours without ptxas, and those of the others with it. A peer that is not installed is named and
left out.
"""

import argparse
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from bench.gpu import cute_peer, cutile_peer, cutlass_peer, triton_peer

ROOT = pathlib.Path(__file__).parents[2]
TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/release")) / "bin/tilewright"
# Multiply-adds per cycle of the unit that runs an instruction: on H100 a multiprocessor, for the warps of a group; on
# A100 a quarter of one, for a warp.
PRODUCTS_PER_CYCLE = {"f16": 2048, "e4m3": 4096, "f16 sm_80": 256, "bf16 sm_100a": 4096}

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
    "gemm f16 sm_80": """
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
  return %d : tensor<4096x4096xf16>
}""",
    "gemm bf16 sm_100a": """
func.func @main(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>
  return %d : tensor<8192x8192xbf16>
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


def attention(heads, size, width):
    """Attention of bf16, in blocks of keys that divide the size."""
    q, s, w, r = (f"tensor<{shape}>" for shape in (f"{heads}x{size}x{width}xbf16", f"{heads}x{size}x{size}xf32", f"{heads}x{size}x{size}xbf16", f"{heads}x{size}xf32"))
    return f"""
func.func @main(%q: {q}, %k: {q}, %v: {q}) -> {q} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<{width ** -0.5}> : {s}
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({q}, {q}) -> {s}
  %s = stablehlo.multiply %x, %scale : {s}
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : ({s}, tensor<f32>) -> {r}
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({r}) -> {s}
  %d = stablehlo.subtract %s, %mb : {s}
  %e = stablehlo.exponential %d : {s}
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : ({s}, tensor<f32>) -> {r}
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : ({r}) -> {s}
  %p = stablehlo.divide %e, %lb : {s}
  %w = stablehlo.convert %p : ({s}) -> {w}
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({w}, {q}) -> {q}
  return %o : {q}
}}"""


OURS |= {"attention bf16 128": attention(32, 192 * 22, 128), "attention bf16 64": attention(32, 208 * 20, 64)}


def chip_of(name):
    last = name.split()[-1]
    return last if last.startswith("sm_") else "sm_90a"


def ours(name, folder):
    source = folder / "ours.mlir"
    source.write_text(OURS[name])
    chip = chip_of(name)
    began = os.times()
    subprocess.run([TOOL, "compile", source, f"--output={folder}/ours.twx", f"--target=vgpu:{chip}"], check=True, capture_output=True)
    ended = os.times()
    # Compile again with ptxas, whose time does not count.
    subprocess.run([TOOL, "compile", source, f"--output={folder}/ours.twx", f"--target={chip}", f"--code={folder}/ours"], check=True,
                   capture_output=True)  # fmt: skip
    seconds = ended.children_user - began.children_user + ended.children_system - began.children_system
    return (folder / "ours.cubin").read_bytes(), seconds


def registers(cubin):
    """The registers of a thread, the most of several kernels: the attribute EIATTR_REGCOUNT (0x2f) of .nv.info, of 8 bytes, is a symbol and a count."""
    table, size, count = struct.unpack_from("<Q", cubin, 40)[0], *struct.unpack_from("<HH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + at * size) for at in range(count)]
    names = sections[struct.unpack_from("<H", cubin, 62)[0]][4]
    ((start, length),) = [part[4:6] for part in sections if cubin[names + part[0] :].startswith(b".nv.info\0")]
    info = cubin[start : start + length]
    return max(struct.unpack_from("<I", info, at + 8)[0] for at in range(0, length - 11, 4) if info[at : at + 4] == b"\x04\x2f\x08\x00")


def read(cubin, folder, sass):
    """What sass.py finds, the registers of a thread, and the instructions of tensor memory."""
    file = folder / "kernel.cubin"
    file.write_bytes(cubin)
    import triton

    wheel = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin"
    environment = os.environ | {"PATH": os.pathsep.join([os.environ["PATH"], str(wheel)])}

    def output(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    facts = json.loads(output(sys.executable, sass, file)) | {"registers": registers(cubin), "live": None, "tensor": None}
    if not any(key.startswith("UTCHMMA") for key in facts["mix"]):
        return facts
    counts, products, shapes = [], [], set()
    for line in output("nvdisasm", "-c", "-plr", file).splitlines():
        if "UTCHMMA" in line:
            products.append(len(counts))
        if found := re.match(r"\s+/\*[0-9a-f]{4,}\*/.*// \|\s*(\d+) ", line):
            counts.append(int(found[1]))
        # Instruction descriptors of bf16 with sums in f32: rows in bits 24 to 28, columns in 17 to 22.
        for number in (int(text, 16) for text in re.findall(r"\b0x([0-9a-f]{7,8})\b", line.split("//")[0])):
            if number & 0x1FFF == 0x490:
                shapes.add(((number >> 24 & 31) << 4, (number >> 17 & 63) << 3))
    # The unit of a pair is two multiprocessors.
    units = 2 if any(".2CTA" in key for key in facts["mix"] if key.startswith("UTCHMMA")) else 1
    facts["live"] = max(counts[products[0] : products[-1] + 1])
    facts["tensor"] = [rows * columns * 16 / units for rows, columns in shapes if rows]
    return facts


def ratio(facts, element):
    """Issue cycles for each tensor-core cycle of the cheapest loop with matrix instructions; None if there is no such loop."""
    best = None
    for loop in facts["loops_with_mma"]:
        shapes = [key for key in facts["mix"] if key.startswith(("HGMMA", "QGMMA", "HMMA"))]
        if not (shapes or facts["tensor"]) or not loop["mma"]:
            continue
        if facts["tensor"]:
            products = max(facts["tensor"])
        else:
            shape = shapes[0].split(".")[1]
            m, n, k = (16, 8, 16) if shape == "16816" else map(int, shape.split("x"))
            products = m * n * k
        cycles = loop["mma"] * products / PRODUCTS_PER_CYCLE[element]
        value = loop["min_issue"] / cycles
        best = value if best is None else min(best, value)
    return best


def loop_of(folder):
    """The steady loop of the cubin that read() has written, and its instructions and issue cycles for each cycle of the tensor core."""
    sys.path.insert(0, str(ROOT / "test/gpu"))
    from machine_code import steady_loop

    import triton

    nvdisasm = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    loop = steady_loop(subprocess.run([nvdisasm, "-hex", "-c", folder / "kernel.cubin"], capture_output=True, text=True, check=True).stdout)
    return f"{loop.instructions / loop.tensor_cycles:.2f} / {loop.cycles / loop.tensor_cycles:.2f}"


def peers(name, folder, arguments):
    """Each configuration of each peer: (name, cubin, CPU seconds)."""
    everybody = {"Triton": lambda: triton_peer.configurations(name), "cuTile": lambda: cutile_peer.configurations(name)}
    if name.endswith("sm_80"):
        everybody = {"Triton": everybody["Triton"]}
    elif arguments.cute_examples:
        everybody["CuTe DSL"] = lambda: cute_peer.configurations(name, arguments.cute_examples, folder)
    if not arguments.no_nvcc and chip_of(name) == "sm_90a":
        everybody["CUTLASS"] = lambda: cutlass_peer.configurations(name, folder)
    for who, configurations in everybody.items():
        try:
            for what, cubin, seconds in configurations():
                yield f"{who}, {what}", cubin, seconds
        except ImportError as missing:
            print(f"{name:24} {who}: not compiled: {missing}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sass", required=True, help="the script that reads cubins")
    parser.add_argument("--cute-examples", type=pathlib.Path, help="the folder with NVIDIA's dense_gemm.py for CuTe DSL; without it, it is left out")
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    parser.add_argument("--no-nvcc", action="store_true", help="leave CUTLASS C++ out, which takes minutes")
    arguments = parser.parse_args()
    print(f"{'kernel':24} {'by':40} {'CPU s':>7} {'instrs':>7} {'issue/tensor':>13} {'LDL+STL':>8} {'registers':>9} {'live':>5}")
    with tempfile.TemporaryDirectory() as folder:
        # No caches: kernels that are compiled already would take no time.
        os.environ |= {"TRITON_CACHE_DIR": folder, "CUDA_TILE_CACHE_DIR": "0"}
        folder = pathlib.Path(folder)
        for name in [name for name in OURS if arguments.only in name]:
            for who, cubin, seconds in [("ours", *ours(name, folder)), *peers(name, folder, arguments)]:
                facts = read(cubin, folder, arguments.sass)
                value = ratio(facts, name.removeprefix("gemm ")) if name.startswith("gemm") else None
                local = sum(count for key, count in facts["mix"].items() if key.startswith(("LDL", "STL")))
                shown = loop_of(folder) if name.startswith("attention") else "" if value is None else f"{value:.3f}"
                print(f"{name:24} {who:40} {seconds:7.2f} {facts['ninst']:7} {shown:>13} {local:8} {facts['registers']:9} {facts['live'] or '':>5}", flush=True)


if __name__ == "__main__":
    main()
