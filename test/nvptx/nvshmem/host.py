"""NVSHMEM's host side for virtual GPUs.

NVSHMEM's own host library cannot drive them: its kernels are machine code. This is what kernels need of it: a symmetric heap
on every device, and the state that a process sets in each module it loads (nvshmemi_device_state_d). Offsets are those of
nvshmemi_device_host_state_v1, whose size NVSHMEM 3 keeps at 848 bytes.
"""

import ctypes
import pathlib
import struct
import sys

import symmetric

STATE, STATE_BYTES = b"nvshmemi_device_state_d", 848
VERSION = b"nvshmemi_device_lib_version_d"
# All peers are reached by loads, stores and atomics (NVSHMEMI_JOB_GPU_LDST_ATOMICS).
DIRECT = 1


def find_library():
    """The bitcode for sm_90 of an installed NVSHMEM, or None: nvidia-nvshmem-cu12 or -cu13 of PyPI, on Python's path."""
    for folder in sys.path:
        lib = pathlib.Path(folder) / "nvidia/nvshmem/lib"
        for name in ("libnvshmem_device_sm_90.bc", "libnvshmem_device.bc"):
            if (lib / name).exists():
                return lib / name
    return None


def global_of(cuda, module, name):
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    cuda.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), module, name)
    return address.value, size.value


class Team(symmetric.Team):
    """PEs 0 to `ranks` - 1, whose heaps are the team's symmetric memory."""

    def load(self, text, symbol):
        """Loads a module on every device and sets its state."""
        for device in self.devices:
            device.use()
            module = ctypes.c_void_p()
            self.cuda.cuModuleLoadData(ctypes.byref(module), text.encode())
            function = ctypes.c_void_p()
            self.cuda.cuModuleGetFunction(ctypes.byref(function), module, symbol.encode())
            device.functions[symbol] = function
            self.set_state(device, module)

    def set_state(self, device, module):
        address, _ = global_of(self.cuda, module, VERSION)
        major = int(device.read(address, 1, "<i4")[0])
        address, size = global_of(self.cuda, module, STATE)
        assert (major, size) == (3, STATE_BYTES), f"NVSHMEM {major} has a state of {size} bytes"
        peers = ctypes.c_uint64()
        self.cuda.cuMemAlloc_v2(ctypes.byref(peers), ctypes.c_size_t(8 * self.ranks))
        device.write(peers.value, struct.pack(f"<{self.ranks}Q", *map(self.address, range(self.ranks))))
        state = struct.pack(
            "<9i4xQQQQ",
            (1 << 16) + STATE_BYTES, device.rank, self.ranks, device.rank, self.ranks,
            0, 0, 0, DIRECT,  # pe_dist, proxy, atomics_sync, job_connectivity
            self.address(device.rank), symmetric.MEMORY, peers.value, peers.value,
        )  # fmt: skip
        device.write(address, state.ljust(STATE_BYTES, b"\0"))

    def launch(self, symbol, blocks, threads, shared, offsets):
        """On every device; parameters are addresses in the device's own heap."""
        for device in self.devices:
            device.use()
            values = [ctypes.c_uint64(self.address(device.rank) + offset) for offset in offsets]
            pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
            self.cuda.cuLaunchKernel(
                device.functions[symbol], blocks, 1, 1, threads, 1, 1, shared, device.stream, pointers, None
            )

    def synchronize(self):
        for device in self.devices:
            device.use()
            self.cuda.cuStreamSynchronize(device.stream)
