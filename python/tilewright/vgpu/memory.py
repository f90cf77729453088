"""Storages of tensors in the memory of a virtual device.

Device memory is also host memory, so torch's CPU kernels can work on it. Each storage is its own allocation, so the
checker knows its bounds and reports accesses to a freed one as use after free.
"""

import contextlib
import ctypes
import dataclasses
import os
import threading
import weakref

import torch

from . import libcuda

HAS_UNTYPED_STORAGE = hasattr(torch.Tensor, "untyped_storage")
# Only these checks need to know which bytes the host wrote.
TRACKS_WRITES = any(word in ("all", "uninit") for word in os.environ.get("TILEWRIGHT_VGPU_CHECK", "").split(","))


@dataclasses.dataclass
class Allocation:
    device: int
    bytes: int


@dataclasses.dataclass
class Usage:
    """The counters of torch.cuda.memory_stats() for one device."""

    allocated: int = 0
    peak: int = 0
    count: int = 0


class _Memory:
    def __init__(self):
        self.lock = threading.RLock()  # reentrant: a finalizer may run while it is held
        self.live = {}  # address -> Allocation
        self.usage = {}  # device -> Usage
        self.postponed = []  # (device, address): freed during a graph capture

    def allocate(self, device, size):
        with libcuda.on_device(device):
            self.free_postponed()
            try:
                address = libcuda.ask("cuMemAlloc_v2", ctypes.c_uint64, size)
            except libcuda.CudaError as error:
                if error.result != libcuda.OUT_OF_MEMORY:
                    raise
                usage = self.of(device)
                raise out_of_memory(
                    f"CUDA out of memory. Tried to allocate {size} bytes; {usage.allocated} bytes are in use by tensors "
                    f"on cuda:{device}; `tilewright vgpu run --memory=BYTES` gives the device more"
                ) from error
        with self.lock:
            self.live[address] = Allocation(device, size)
            usage = self.of(device)
            usage.allocated += size
            usage.count += 1
            usage.peak = max(usage.peak, usage.allocated)
        return address

    def of(self, device):
        return self.usage.setdefault(device, Usage())

    def free(self, address, process):
        if process != os.getpid():
            return  # a forked child has no driver to free it with
        with self.lock:
            gone = self.live.pop(address, None)
            if gone is None:
                return
            self.of(gone.device).allocated -= gone.bytes
            self.postponed.append((gone.device, address))
        try:
            self.free_postponed()
        except libcuda.CudaError:
            pass  # a finalizer cannot raise; the program's next driver call fails as well

    def free_postponed(self):
        """Frees postponed allocations; the driver refuses to while a stream is captured."""
        with self.lock:
            todo, self.postponed = self.postponed, []
        for device, address in todo:
            with libcuda.on_device(device):
                if libcuda.library().cuMemFree_v2(address):
                    with self.lock:
                        self.postponed.append((device, address))


memory = _Memory()


def out_of_memory(text):
    return getattr(torch.cuda, "OutOfMemoryError", RuntimeError)(text)


@contextlib.contextmanager
def without_dispatch():
    """Runs operations inside the block with torch's own dispatch, even on DeviceTensors."""
    guard = torch._C._DisableTorchDispatch()
    with guard if hasattr(guard, "__enter__") else contextlib.nullcontext(), torch.no_grad():
        yield
    del guard  # torch 1.13: the guard ends with the object


def storage_of(tensor):
    """The bytes behind a tensor; torch 1.13 and 2 name them differently."""
    return tensor.untyped_storage() if HAS_UNTYPED_STORAGE else tensor._storage()


def new_storage(size, device):
    """Uninitialised bytes of device memory."""
    address = memory.allocate(device, size)
    bytes_there = (ctypes.c_char * size).from_address(address)
    # torch keeps the array alive as long as a tensor uses the storage.
    weakref.finalize(bytes_there, memory.free, address, os.getpid()).atexit = False
    return storage_of(torch.frombuffer(bytes_there, dtype=torch.uint8))


def device_of(storage):
    """The index of the device that owns a storage, or None for the host."""
    found = memory.live.get(storage.data_ptr())
    return found.device if found else None


def view(storage, like):
    """A plain torch tensor over a storage, with dtype, shape and strides of another tensor."""
    with without_dispatch():
        return torch.empty(0, dtype=like.dtype).set_(storage, like.storage_offset(), like.size(), like.stride())


def empty(like, device):
    """A plain tensor in device memory with dtype, shape and strides of a tensor without storage."""
    if like.numel() == 0:
        return torch.empty_strided(like.size(), like.stride(), dtype=like.dtype)
    count = 1 + sum((size - 1) * step for size, step in zip(like.size(), like.stride()))
    return view(new_storage(count * like.element_size(), device), like)


def moved(tensor, device, is_written=True):
    """A plain tensor in device memory with the same bytes, shape and strides."""
    storage = storage_of(tensor)
    size = storage.nbytes()
    if size == 0 or device_of(storage) == device:
        return tensor
    made = view(new_storage(size, device), tensor)
    if is_written:
        ctypes.memmove(storage_of(made).data_ptr(), storage.data_ptr(), size)
        wrote(made)
    return made


def compact(tensor):
    """A tensor that owns its storage alone, with the strides that torch gives to copies."""
    if not is_dense(tensor):
        return tensor.contiguous()
    return tensor.clone() if tensor.numel() * tensor.element_size() < storage_of(tensor).nbytes() else tensor


def is_dense(tensor):
    """Whether the elements fill their memory range without gaps or overlap, in any order of dimensions."""
    expected = 1
    for step, size in sorted((step, size) for step, size in zip(tensor.stride(), tensor.size()) if size != 1):
        if step != expected:
            return False
        expected *= size
    return True


MOST_RUNS = 4096


def wrote(tensor):
    """Tells the checker that the host wrote the elements of a plain tensor in device memory."""
    if not TRACKS_WRITES or tensor.numel() == 0 or tensor.layout != torch.strided:
        return
    item = tensor.element_size()
    tell = libcuda.library().tilewright_vgpu_host_wrote
    # Contiguous runs of bytes, then the strides between them, innermost first.
    width, steps = item, []
    for step, size in sorted((step * item, size) for step, size in zip(tensor.stride(), tensor.size()) if size != 1):
        if not steps and step == width:
            width *= size
        elif step != 0:
            steps.append((step, size))
    begin = tensor.data_ptr()
    pitch, height = steps[0] if steps else (width, 1)
    outer, runs = steps[1:], 1
    for _, size in outer:
        runs *= size
    if runs > MOST_RUNS:
        # Too many runs to report one by one, so the gaps count as written, too. This can hide a finding but never
        # causes one.
        tell(begin, sum(step * (size - 1) for step, size in steps) + width, 0, 1)
        return
    starts = [begin]
    for step, size in outer:
        starts = [start + i * step for start in starts for i in range(size)]
    for start in starts:
        tell(start, width, pitch, height)
