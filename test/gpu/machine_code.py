"""Kernels as machine code: instructions, issue cycles and live registers, as nvdisasm shows them."""

import collections
import importlib.util
import pathlib
import re
import shutil
import subprocess

import pytest


def machine_code(folder, name, program, chip, tool, *options):
    """The instructions of a program's kernel with their labels, as nvdisasm prints them with these options. `tool` runs the compiler."""
    triton = importlib.util.find_spec("triton")
    beside = [str(pathlib.Path(triton.origin).parent / "backends/nvidia/bin")] if triton else []
    nvdisasm = shutil.which("nvdisasm") or next(filter(None, (shutil.which("nvdisasm", path=path) for path in beside)), None)
    (folder / f"{name}.mlir").write_text(program)
    tool("compile", folder / f"{name}.mlir", f"--target={chip}", f"--output={folder}/{name}.twx", f"--code={folder}/{name}")
    if not nvdisasm or not (folder / f"{name}.cubin").exists():
        pytest.skip("ptxas or nvdisasm is not on this machine")
    return subprocess.run([nvdisasm, "-hex", "-c", *options, folder / f"{name}.cubin"], capture_output=True, text=True, check=True, timeout=120).stdout


Loop = collections.namedtuple("Loop", "instructions cycles products tensor_cycles")


def steady_loop(code):
    """The shortest loop with matrix instructions: its instructions, the cycles for which they hold the issue slot of their warp (bits 41 to 44 of the upper
    word), and those for which they keep the tensor core busy (sm_90a)."""
    labels, listed, upper = {}, [], re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")
    for line in code.splitlines():
        if found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;\s*/\* 0x", line):
            listed.append([found[1], 0])
        elif found := upper.match(line):
            listed[-1][1] = int(found[1], 16) >> 41 & 15
        elif found := re.match(r"(\.L_x_\d+):", line):
            labels[found[1]] = len(listed)
    loops = []
    for at, (text, _) in enumerate(listed):
        found = re.search(r"BRA\S*\s.*`\((\.L_x_\d+)\)", text)
        if found and labels.get(found[1], at + 1) <= at:
            body = listed[labels[found[1]] : at + 1]
            if products := sum(bool(re.search(r"\b(H|HG|UTCH)MMA\b", line)) for line, _ in body):
                # A multiprocessor of sm_90a has 2048 multiply-adds of f16 or bf16 in a cycle.
                shapes = [re.search(r"HGMMA\.(\d+)x(\d+)x(\d+)", line) for line, _ in body]
                busy = sum(int(shape[1]) * int(shape[2]) * int(shape[3]) / 2048 for shape in shapes if shape)
                loops.append((len(body), Loop(len(body), sum(cycles for _, cycles in body), products, busy)))
    return min(loops)[1]


def live_registers(code):
    """The largest number of registers that are in use at once between the first and the last matrix instruction in tensor memory, from `nvdisasm -plr`."""
    counts, products = [], []
    for line in code.splitlines():
        if re.search(r"\bUTCHMMA\b", line):
            products.append(len(counts))
        # An instruction has two lines, one for each of its words; the second has the counts.
        if found := re.match(r"\s+/\*.*// \|\s*(\d+) ", line):
            counts.append(int(found[1]))
    return max(counts[products[0] : products[-1] + 1])
