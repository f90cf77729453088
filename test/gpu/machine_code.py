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


def listed_code(code):
    """The position of each label, and all instructions with the cycles for which they hold the issue slot of their warp (bits 41 to 44 of the upper word)."""
    labels, listed, upper = {}, [], re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")
    for line in code.splitlines():
        if found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;\s*/\* 0x", line):
            listed.append([found[1], 0])
        elif found := upper.match(line):
            listed[-1][1] = int(found[1], 16) >> 41 & 15
        elif found := re.match(r"(\.L_x_\d+):", line):
            labels[found[1]] = len(listed)
    return labels, listed


def target_of(text, labels):
    """The position to which a branch goes; None for any other instruction."""
    found = re.search(r"BRA\S*\s.*`\((\.L_x_\d+)\)", text)
    return labels.get(found[1]) if found else None


def loops_of(code, needed):
    """The instructions of an iteration of each loop that has an instruction `needed`, shortest first. Branches forward that skip none of these are taken.
    Waits continue behind the end of the kernel, and then jump back: that is not a loop."""
    labels, listed = listed_code(code)
    loops = []
    for at, (text, _) in enumerate(listed):
        begin = target_of(text, labels)
        if begin is None or begin > at or any(re.search(r"\bEXIT\b", line) for line, _ in listed[begin : at + 1]):
            continue
        body, place = [], begin
        while place <= at:
            body.append(listed[place])
            to = target_of(listed[place][0], labels)
            skips = to is not None and place < to <= at and not any(re.search(needed, line) for line, _ in listed[place:to])
            place = to if skips else place + 1
        if any(re.search(needed, line) for line, _ in body):
            loops.append(body)
    return sorted(loops, key=len)


Roles = collections.namedtuple("Roles", "multiplying slots special")


def attention_roles(code, width, warpgroups):
    """Of a kernel of attention whose accumulators are in tensor memory, for each cycle in which the tensor core is busy: instructions of the warp that
    multiplies; instructions of the scheduler that issues these, or those of the warp that copies; and cycles of the special-function units."""
    compute, multiply, copy = (loops_of(code, needed)[0] for needed in (r"\bMUFU\.EX2", r"\bUTCHMMA\b", r"\bUTMALDG\b"))

    def count(needed):
        return sum(bool(re.search(needed, line)) for line, _ in compute)

    # Two weights are converted at once, each of a key. A multiprocessor of sm_100a has 4096 multiply-adds of f16 or bf16 in a cycle.
    cycles = warpgroups * 128 * 2 * count(r"\bF2FP\.") * 2 * width / 4096
    # Each of the four schedulers has a warp of every warpgroup, and its special-function unit takes eight cycles for a warp.
    slots = warpgroups * len(compute) + max(len(multiply), len(copy))
    return Roles(len(multiply) / cycles, slots / cycles, 8 * warpgroups * count(r"\bMUFU\b") / cycles)


Loop = collections.namedtuple("Loop", "instructions cycles products tensor_cycles")


def steady_loop(code):
    """The shortest loop with matrix instructions: its instructions, the cycles for which they hold the issue slot of their warp (bits 41 to 44 of the upper
    word), and those for which they keep the tensor core busy (sm_90a)."""
    labels, listed = listed_code(code)
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


def computed_product(code):
    """Of a product whose operands are both computed for wgmma, the instructions of a scheduler for each cycle in which its tensor core is busy: it has a warp of
    each of the two warpgroups that multiply, and one of the warpgroup that computes the right operand. Zero instructions if there is no such kernel."""
    multiply = loops_of(code, r"\bHGMMA\b")
    compute = [loop for loop in loops_of(code, r"\bSTS\b") if not any("HGMMA" in line for line, _ in loop)]
    if not multiply or not compute:
        return 0
    shapes = [re.search(r"HGMMA\.(\d+)x(\d+)x(\d+)", line) for line, _ in multiply[0]]
    # A multiprocessor of sm_90a has 2048 multiply-adds of bf16 in a cycle.
    busy = sum(int(shape[1]) * int(shape[2]) * int(shape[3]) / 2048 for shape in shapes if shape)
    return (2 * len(multiply[0]) + len(compute[0])) / (2 * busy)


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
