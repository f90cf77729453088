"""Records launches of the Triton programs, so that MutationSuite can repeat them without Triton.

    tilewright vgpu run --chip=sm_90a --threads=1 -- python record_triton.py FOLDER PROGRAM…

Records the first launch of each kernel of a program: NAME.ptx as Triton compiled it, NAME.memory with the initial contents
of all arrays, and NAME.launch with the sizes and the bytes of each parameter. Arrays are at an otherwise unused fixed address,
so pointers in parameters and tensor maps are valid when the launch is repeated. A program's results are compared, too.
"""

import ctypes
import math
import pathlib
import re
import sys

import numpy as np
import triton
from triton.backends.nvidia.driver import CudaLauncher

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "triton"))
import programs
from programs import harness

ARENA, ROOM = 0x2000_0000_0000, 64 << 20


class Arena:
    """Memory at a fixed address, allocated from the bottom."""

    def __init__(self):
        mmap = ctypes.CDLL(None, use_errno=True).mmap
        mmap.restype, mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
        # PROT_READ | PROT_WRITE; MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE
        got = mmap(ARENA, ROOM, 3, 0x104022, -1, 0)
        assert got == ARENA, f"no memory at {ARENA:#x}, errno {ctypes.get_errno()}"
        self.used = 0

    def take(self, size):
        at = self.used
        self.used += -(-size // 256) * 256 + 256
        assert self.used <= ROOM, f"the arrays of a program take more than {ROOM} bytes"
        return np.ctypeslib.as_array((ctypes.c_uint8 * max(size, 1)).from_address(ARENA + at))[:size]

    def empty(self, shape, dtype=np.float32):
        """Replaces harness.empty."""
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        dtype = np.dtype(dtype)
        room = self.take(math.prod(shape) * dtype.itemsize)
        room[...] = 0xA5
        return room.view(dtype).reshape(shape).view(harness.Array)


arena = Arena()
texts = {}  # PTX by handle of the function


def parameters_of(text):
    """(name, bytes) of the only kernel's parameters."""
    found = []
    for one in re.search(r"\.entry\s+\w+\s*\(([^)]*)\)", text).group(1).split(","):
        words = one.split()
        if words:
            bits = next(int(word[2:]) for word in words if re.fullmatch(r"\.[busf]\d+", word))
            name, _, count = words[-1].rstrip("]").partition("[")
            found.append((name, bits // 8 * int(count or 1)))
    return found


def probe(text, shared):
    """A kernel with the same parameters that records its arguments and the sizes of the launch."""
    out = arena.take(8192)
    out[...] = 0
    header = text[: text.index(".address_size")] + ".address_size 64\n"
    entry = re.search(r"\.visible\s+\.entry\s+\w+\s*\([^)]*\)", text).group(0)
    body = [".reg .b64 %a;", ".reg .b32 %v;", ".reg .b16 %c;", f"mov.u64 %a, {out.ctypes.data};"]
    sizes = ["%nctaid.x", "%nctaid.y", "%nctaid.z", "%ntid.x", "%ntid.y", "%ntid.z"]
    if int(re.search(r"\.target\s+sm_(\d+)", text).group(1)) >= 90:
        sizes += ["%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z"]
    for i, name in enumerate(sizes):
        body += [f"mov.u32 %v, {name};", f"st.global.u32 [%a+{4 * i}], %v;"]
    at = 64
    for name, size in parameters_of(text):
        for i in range(size):
            body += [f"ld.param.b8 %c, [{name}+{i}];", f"st.global.b8 [%a+{at + i}], %c;"]
        at += size
    assert at <= out.size
    source = f"{header}{entry}\n{{\n" + "\n".join(body) + "\nret;\n}\n"
    name = re.search(r"\.entry\s+(\w+)", text).group(1)
    driver = triton.runtime.driver.active
    _, function, *_ = driver.utils.load_binary(name, source.encode(), shared, driver.get_current_device())
    return function, out


def loaded(module, function, name, metadata_group, hash):
    path = next(path for file, path in metadata_group.items() if file.endswith(".ptx"))
    texts[function] = pathlib.Path(path).read_text()


def record(folder, program, function, is_cooperative, shared, launch):
    text = texts[function]
    kernel = re.search(r"\.entry\s+(\w+)", text).group(1)
    name = f"{program}.{kernel}"
    if (folder / f"{name}.launch").exists():
        return
    ask, out = probe(text, shared)
    launch(ask)
    sizes = out[:64].view(np.uint32)
    lines = [f"kernel {kernel}", f"chip {CHIP}"]
    for what, first in (("grid", 0), ("block", 3), ("cluster", 6)):
        lines.append(" ".join([what, *(str(size) for size in sizes[first : first + 3])]))
    lines += [f"shared {shared}", f"cooperative {int(is_cooperative)}", "checks all", f"memory {ARENA}"]
    at = 64
    for _, size in parameters_of(text):
        lines.append("parameter " + bytes(out[at : at + size]).hex())
        at += size
    (folder / f"{name}.ptx").write_text(text)
    (folder / f"{name}.memory").write_bytes(ctypes.string_at(ARENA, arena.used))
    (folder / f"{name}.launch").write_text("\n".join(lines) + "\n")


def main(folder, chosen):
    folder.mkdir(parents=True, exist_ok=True)
    triton.knobs.runtime.kernel_load_end_hook = loaded
    for module in [harness, programs, *[m for n, m in sys.modules.items() if n.startswith("programs.")]]:
        if hasattr(module, "empty"):
            module.empty = arena.empty
    created = CudaLauncher.__init__

    def init(self, src, metadata):
        created(self, src, metadata)
        inner, shared = self.launch, metadata.shared

        def launch(x, y, z, stream, function, cooperative, *rest):
            record(folder, current, function, cooperative, shared, lambda other: inner(x, y, z, stream, other, cooperative, *rest))
            inner(x, y, z, stream, function, cooperative, *rest)

        self.launch = launch

    CudaLauncher.__init__ = init
    for current in chosen:
        program = programs.PROGRAMS[current]
        arena.used = 0
        programs.lend_scratch()
        programs.seed(program.seed)
        returned = program.run()
        for got, want in returned if isinstance(returned, list) else [returned]:
            _, part = programs.differences(got, want, program.tolerance)
            assert part <= 1, f"{current} is wrong: {part:.3g} times what is allowed"
        print(current, arena.used, "bytes")


if __name__ == "__main__":
    target = triton.runtime.driver.active.get_current_target()
    CHIP = f"sm_{target.arch}" + ("a" if target.arch >= 90 else "")
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
