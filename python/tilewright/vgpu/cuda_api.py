"""torch.cuda for virtual devices."""

import contextlib
import ctypes
import types

import torch

from . import generators, libcuda, memory, streams
from .streams import number_of


class device:
    """torch.cuda.device(): selects another device inside the block."""

    def __init__(self, device):
        self.idx = -1 if device is None else number_of(device)

    def __enter__(self):
        self.prev_idx = libcuda.current_device()
        if self.idx >= 0:
            libcuda.use_device(self.idx)

    def __exit__(self, *_):
        libcuda.use_device(self.prev_idx)
        return False


class device_of(device):
    def __init__(self, obj):
        super().__init__(obj.get_device() if getattr(obj, "is_cuda", False) else None)


def set_device(device):
    libcuda.use_device(number_of(device))


def get_device_capability(device=None):
    number = number_of(device)
    return libcuda.attribute(libcuda.MAJOR, number), libcuda.attribute(libcuda.MINOR, number)


def get_device_properties(device=None):
    number = number_of(device)
    ask = lambda attribute: libcuda.attribute(attribute, number)  # noqa: E731
    return types.SimpleNamespace(
        name=libcuda.name_of(number),
        major=ask(libcuda.MAJOR),
        minor=ask(libcuda.MINOR),
        total_memory=libcuda.ask("cuDeviceTotalMem_v2", ctypes.c_size_t, number),
        multi_processor_count=ask(libcuda.MULTIPROCESSORS),
        warp_size=ask(libcuda.WARP_SIZE),
        regs_per_multiprocessor=ask(libcuda.REGISTERS_A_MULTIPROCESSOR),
        max_threads_per_multi_processor=ask(libcuda.THREADS_A_MULTIPROCESSOR),
        shared_memory_per_block=ask(libcuda.SHARED_A_BLOCK),
        shared_memory_per_block_optin=ask(libcuda.SHARED_OPT_IN),
        shared_memory_per_multiprocessor=ask(libcuda.SHARED_A_MULTIPROCESSOR),
        L2_cache_size=ask(libcuda.L2_BYTES),
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName=libcuda.chip_of(number),
    )


def get_device_name(device=None):
    return libcuda.name_of(number_of(device))


def _chips():
    return [libcuda.chip_of(number).removesuffix("a") for number in range(libcuda.device_count())]


# ---- memory: each tensor is its own allocation, so nothing is reserved or cached


def _usage(device):
    return memory.memory.of(number_of(device))


def memory_allocated(device=None):
    return _usage(device).allocated


def max_memory_allocated(device=None):
    return _usage(device).peak


def reset_peak_memory_stats(device=None):
    usage = _usage(device)
    usage.peak = usage.allocated


def memory_stats(device=None):
    usage = _usage(device)
    return {
        "allocated_bytes.all.current": usage.allocated,
        "allocated_bytes.all.peak": usage.peak,
        "reserved_bytes.all.current": usage.allocated,
        "reserved_bytes.all.peak": usage.peak,
        "allocation.all.allocated": usage.count,
        "num_ooms": 0,
        "num_alloc_retries": 0,
    }


def mem_get_info(device=None):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with libcuda.on_device(number_of(device)):
        libcuda.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


# ---- random numbers


def manual_seed(seed):
    generators.manual_seed(seed, [libcuda.current_device()])


def manual_seed_all(seed):
    generators.manual_seed(seed, range(libcuda.device_count()))


def get_rng_state(device="cuda"):
    return generators.default(number_of(device)).get_state()


def set_rng_state(state, device="cuda"):
    generators.default(number_of(device)).set_state(state)


class _Generators:
    """torch.cuda.default_generators."""

    def __getitem__(self, number):
        return generators.default(number)

    def __len__(self):
        return libcuda.device_count()


def _nothing(*_, **__):
    return None


def _always(value):
    return lambda *_, **__: value


def install():
    cuda = torch.cuda
    usage = dict(
        memory_allocated=memory_allocated,
        max_memory_allocated=max_memory_allocated,
        memory_reserved=memory_allocated,
        max_memory_reserved=max_memory_allocated,
        memory_cached=memory_allocated,
        max_memory_cached=max_memory_allocated,
        memory_stats=memory_stats,
        mem_get_info=mem_get_info,
        memory_summary=lambda device=None, abbreviated=False: str(memory_stats(device)),
        reset_peak_memory_stats=reset_peak_memory_stats,
        reset_max_memory_allocated=reset_peak_memory_stats,
        reset_max_memory_cached=reset_peak_memory_stats,
        reset_accumulated_memory_stats=_nothing,
        empty_cache=_nothing,
        ipc_collect=_nothing,
        set_per_process_memory_fraction=_nothing,
    )
    numbers = dict(
        manual_seed=manual_seed,
        manual_seed_all=manual_seed_all,
        seed=lambda: manual_seed(torch.seed()),
        seed_all=lambda: manual_seed_all(torch.seed()),
        initial_seed=lambda: generators.default(libcuda.current_device()).initial_seed(),
        get_rng_state=get_rng_state,
        set_rng_state=set_rng_state,
        get_rng_state_all=lambda: [get_rng_state(number) for number in range(libcuda.device_count())],
        set_rng_state_all=lambda states: [set_rng_state(state, number) for number, state in enumerate(states)] and None,
    )
    devices = dict(
        is_available=lambda: libcuda.device_count() > 0,
        is_initialized=libcuda.is_started,
        init=libcuda.use_device,
        _lazy_init=libcuda.use_device,
        _is_compiled=_always(True),
        device_count=libcuda.device_count,
        current_device=libcuda.current_device,
        set_device=set_device,
        device=device,
        device_of=device_of,
        _DeviceGuard=device,
        get_device_capability=get_device_capability,
        get_device_properties=get_device_properties,
        get_device_name=get_device_name,
        get_arch_list=_chips,
        get_gencode_flags=_always(""),
        can_device_access_peer=lambda one, other: one != other,
        is_bf16_supported=_always(True),
        get_sync_debug_mode=_always(0),
        set_sync_debug_mode=_nothing,
        synchronize=streams.synchronize,
        utilization=_always(0),
        default_generators=_Generators(),
        _number=number_of,
    )
    flow = dict(
        Stream=streams.Stream,
        ExternalStream=streams.ExternalStream,
        Event=streams.Event,
        stream=streams.StreamContext,
        StreamContext=streams.StreamContext,
        current_stream=streams.current_stream,
        default_stream=streams.default_stream,
        set_stream=streams.set_stream,
        CUDAGraph=streams.CUDAGraph,
        graph=streams.graph,
        graph_pool_handle=_always((0, 0)),
        is_current_stream_capturing=streams.is_capturing,
        cudart=_no_runtime,
    )
    for name, value in {**usage, **numbers, **devices, **flow}.items():
        setattr(cuda, name, value)
    for part, names in (("memory", usage), ("random", numbers), ("streams", flow), ("graphs", flow)):
        module = getattr(cuda, part, None)
        for name, value in names.items():
            if module is not None and hasattr(module, name):
                setattr(module, name, value)
    cuda.nvtx.range_push = cuda.nvtx.range_pop = cuda.nvtx.mark = _nothing
    cuda.nvtx.range = lambda *_, **__: contextlib.nullcontext()
    torch._C._cuda_getCurrentRawStream = streams.raw_current_stream
    torch._C._cuda_getDevice = libcuda.current_device
    torch._C._cuda_getDeviceCount = libcuda.device_count
    torch._C._cuda_isCurrentStreamCapturing = streams.is_capturing


def _no_runtime():
    raise RuntimeError("torch.cuda.cudart(): the CUDA runtime library does not work on the virtual GPU")
