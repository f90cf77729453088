"""NVIDIA's symmetric-memory kernels of NCCL 2.28 on several virtual GPUs.

The kernels are PTX inside of the installed libnccl.so.2, from which cuobjdump extracts them when the test runs. This file
sets up what NCCL's host code would: memory of every device at base + rank * 4 GiB, a multicast object over all of it,
barriers, buffers for the LL protocol, and the arguments. Offsets are those of NCCL 2.28.9's structs.
"""

import ctypes
import pathlib
import re
import struct
import subprocess

import ml_dtypes
import numpy as np

MiB = 1 << 20
MEMORY = 16 * MiB  # of each device: resources first, then input and output
INPUT, OUTPUT = 8 * MiB, 12 * MiB
BARRIERS = 64  # ncclSymkMaxBlocks
TYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
}
DEVICE_COMM_BYTES = 200  # ncclDevComm; ncclLLA2AHandle follows
ARGUMENT_HEAD = 224  # ncclSymkDevWorkArgs, rounded up to 16 bytes


def extract(library, folder, cuobjdump):
    """The PTX modules of the library, for a chip that the virtual GPU has."""
    subprocess.run([cuobjdump, "-xptx", "all", str(library)], cwd=folder, check=True, capture_output=True)
    modules = []
    for path in sorted(pathlib.Path(folder).glob("*.ptx")):
        text = path.read_text(encoding="utf-8").rstrip("\0")
        modules.append(re.sub(r"\.target sm_\w+", ".target sm_90a", text))
    return modules


def entries(text):
    return re.findall(r"\.entry (\w+)\(", text)


class Kernel:
    """The name of a kernel, taken apart: AllReduce_RSxLD_AGxST_sum_bf16."""

    def __init__(self, symbol):
        self.symbol = symbol
        self.name = re.search(r"ncclSymkDevKernel_(\w+?)21ncclSymkDevWorkArgs4K", symbol).group(1)
        self.collective = self.name.split("_")[0]
        kind = self.name.split("_sum_")
        self.type = TYPES[kind[1]] if len(kind) == 2 else np.uint8


class Cuda:
    """The driver, by ctypes; every call must succeed."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            result = function(*arguments)
            if result != 0:
                raise RuntimeError(f"{name} returned {result}")

        return call


class Device:
    def __init__(self, team, rank):
        cuda = team.cuda
        self.team, self.rank = team, rank
        self.context = ctypes.c_void_p()
        cuda.cuCtxCreate_v2(ctypes.byref(self.context), 0, rank)
        self.stream = ctypes.c_void_p()
        cuda.cuStreamCreate(ctypes.byref(self.stream), 1)  # non-blocking
        self.functions = {}
        # A window, as the kernels read it from device memory: ncclWindow_vidmem.
        self.window = ctypes.c_uint64()
        cuda.cuMemAlloc_v2(ctypes.byref(self.window), 72)
        self.write(self.window.value, self.window_bytes())

    def window_bytes(self):
        return struct.pack("<QQiiIII", 0, self.team.base, self.rank, self.rank, 1, 0, 0).ljust(72, b"\0")

    def use(self):
        self.team.cuda.cuCtxSetCurrent(self.context)

    def write(self, address, data):
        self.team.cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

    def read(self, address, count, dtype):
        result = np.empty(count, dtype)
        self.team.cuda.cuMemcpyDtoH_v2(
            ctypes.c_void_p(result.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(result.nbytes)
        )
        return result

    def load(self, modules):
        self.use()
        for text in modules:
            module = ctypes.c_void_p()
            self.team.cuda.cuModuleLoadData(ctypes.byref(module), text.encode())
            for symbol in entries(text):
                function = ctypes.c_void_p()
                self.team.cuda.cuModuleGetFunction(ctypes.byref(function), module, symbol.encode())
                self.functions[symbol] = function

    def arguments(self, count, blocks):
        """ncclSymkDevWorkArgs4K for one work of `count` elements on all blocks."""
        team = self.team
        ranks = team.ranks
        reciprocal = (0xFFFFFFFF // ranks + (ranks & (ranks - 1) == 0)) & 0xFFFFFFFF
        comm = struct.pack("<iiIiiIQQ", self.rank, ranks, reciprocal, self.rank, ranks, reciprocal, 0, self.window.value)
        comm += self.window_bytes()
        comm += struct.pack("<QIi", team.multicast, 0, BARRIERS)  # lsaMultimem, lsaBarrier
        comm = comm.ljust(DEVICE_COMM_BYTES, b"\0")
        comm += struct.pack("<II", team.ll_handle, team.ll_slots) + struct.pack("<i", blocks)
        ranges = b"".join(struct.pack("<HH", 0, (b + 1) * 0x10000 // blocks - 1) for b in range(blocks))
        ranges = ranges.ljust((len(ranges) + 15) // 16 * 16, b"\0")
        work = struct.pack("<QQQQQQQ", 0, count, self.window.value, self.window.value, INPUT, OUTPUT, 0)
        work += struct.pack("<HHI", 0, blocks, 0)
        return (comm.ljust(ARGUMENT_HEAD, b"\0") + ranges + work).ljust(4096, b"\0")

    def launch(self, kernel, count, blocks, threads):
        self.use()
        packed = ctypes.create_string_buffer(self.arguments(count, blocks), 4096)
        values = (ctypes.c_void_p * 1)(ctypes.addressof(packed))
        self.team.cuda.cuLaunchKernel(
            self.functions[kernel.symbol], blocks, 1, 1, threads, 1, 1, 0, self.stream, values, None
        )


class Team:
    """Devices 0 to `ranks` - 1, with symmetric memory and a multicast object over it."""

    def __init__(self, cuda, ranks):
        self.cuda, self.ranks = cuda, ranks
        self.ll_slots = ranks * 512  # one for each thread of each rank
        barrier_bytes = 4 * BARRIERS * (3 + ranks)
        self.ll_handle = (barrier_bytes + 127) // 128  # in units of 128 bytes
        base = ctypes.c_uint64()
        cuda.cuMemAddressReserve(
            ctypes.byref(base), ctypes.c_size_t(ranks << 32), ctypes.c_size_t(1 << 32), ctypes.c_uint64(0), 0
        )
        self.base = base.value
        team = ctypes.c_uint64()
        cuda.cuMulticastCreate(ctypes.byref(team), struct.pack("<IIQQQ", ranks, 0, MEMORY, 0, 0))
        for rank in range(ranks):
            cuda.cuMulticastAddDevice(team, rank)
        for rank in range(ranks):
            memory = ctypes.c_uint64()
            properties = struct.pack("<iiii16x", 1, 0, 1, rank)
            cuda.cuMemCreate(ctypes.byref(memory), ctypes.c_size_t(MEMORY), properties, 0)
            self.map(self.address(rank), memory)
            cuda.cuMulticastBindMem(team, ctypes.c_size_t(0), memory, ctypes.c_size_t(0), ctypes.c_size_t(MEMORY), 0)
        multicast = ctypes.c_uint64()
        cuda.cuMemAddressReserve(
            ctypes.byref(multicast), ctypes.c_size_t(MEMORY), ctypes.c_size_t(0), ctypes.c_uint64(0), 0
        )
        self.multicast = multicast.value
        self.map(self.multicast, team)
        self.devices = [Device(self, rank) for rank in range(ranks)]
        for device in self.devices:
            cuda.cuMemsetD8_v2(ctypes.c_uint64(self.address(device.rank)), 0, ctypes.c_size_t(MEMORY))

    def address(self, rank):
        return self.base + (rank << 32)

    def map(self, address, memory):
        self.cuda.cuMemMap(ctypes.c_uint64(address), ctypes.c_size_t(MEMORY), ctypes.c_size_t(0), memory, 0)
        access = b"".join(struct.pack("<iii", 1, rank, 3) for rank in range(self.ranks))
        self.cuda.cuMemSetAccess(
            ctypes.c_uint64(address), ctypes.c_size_t(MEMORY), access, ctypes.c_size_t(self.ranks)
        )

    def run(self, kernel, count, blocks, threads):
        """Runs a collective of `count` elements a rank and returns the outputs and the expected ones."""
        sent = count * (self.ranks if kernel.collective == "ReduceScatter" else 1)
        received = count * (self.ranks if kernel.collective == "AllGather" else 1)
        # As NCCL's scheduler does, give no block an empty part: parts are made of cells of 1,024 bytes.
        blocks = min(blocks, -(-count * np.dtype(kernel.type).itemsize // 1024))
        random = np.random.default_rng(count)
        # Small integers: every sum of them is exact in every type, whatever its order.
        low, high = (0, 250) if kernel.type == np.uint8 else (-2, 3)
        inputs = [random.integers(low, high, sent).astype(kernel.type) for _ in range(self.ranks)]
        for device, values in zip(self.devices, inputs, strict=True):
            device.use()
            device.write(self.address(device.rank) + INPUT, values.tobytes())
            self.cuda.cuMemsetD8_v2(
                ctypes.c_uint64(self.address(device.rank) + OUTPUT), 0x55, ctypes.c_size_t(received * values.itemsize)
            )
        for device in self.devices:
            device.launch(kernel, count, blocks, threads)
        for device in self.devices:
            device.use()
            self.cuda.cuStreamSynchronize(device.stream)
        outputs = [d.read(self.address(d.rank) + OUTPUT, received, kernel.type) for d in self.devices]
        return outputs, self.expected(kernel, inputs, count)

    def expected(self, kernel, inputs, count):
        if kernel.collective == "AllGather":
            return [np.concatenate(inputs)] * self.ranks
        total = sum(values.astype(np.float64) for values in inputs).astype(kernel.type)
        if kernel.collective == "AllReduce":
            return [total] * self.ranks
        return [total[rank * count : (rank + 1) * count] for rank in range(self.ranks)]
