"""Functions and methods of torch that take a device."""

import ctypes
import functools
import os
import weakref

import torch

from . import generators, libcuda, memory, moving, streams, widening
from .tensor import DeviceTensor, index_of, plain, to_device, wrap

_MAKERS = (
    "empty empty_strided empty_permuted zeros ones full rand randn randint randperm arange range linspace logspace eye tensor "
    "as_tensor asarray scalar_tensor tril_indices triu_indices bartlett_window blackman_window hamming_window hann_window "
    "kaiser_window normal sparse_coo_tensor"
).split()
_LIKE = "empty_like zeros_like ones_like full_like rand_like randn_like randint_like".split()
_NEW = "new_empty new_empty_strided new_zeros new_ones new_full new_tensor".split()
_RANDOM = set("rand randn randint randperm normal rand_like randn_like randint_like".split())
_NARROW = (torch.float16, torch.bfloat16)


def device_number(device):
    """The index of a cuda device in any of torch's spellings; None for other devices."""
    if device is None or isinstance(device, bool):
        return None
    if isinstance(device, int):
        return streams.number_of(device)
    if isinstance(device, str):
        if not device.startswith("cuda"):
            return None
        device = torch.device(device)
    if not isinstance(device, torch.device) or device.type != "cuda":
        return None
    number = streams.number_of(device)
    if number >= libcuda.device_count():
        raise RuntimeError(f"CUDA error: invalid device ordinal (there is no cuda:{number})")
    return number


def _is_cpu(device):
    return (isinstance(device, str) and device.startswith("cpu")) or (
        isinstance(device, torch.device) and device.type == "cpu"
    )


def _on_host(function, arguments, keywords):
    """Makes a CPU tensor, also of types for which the CPU has no random number generator."""
    if keywords.get("pin_memory"):
        return _pin_memory(_on_host(function, arguments, {**keywords, "pin_memory": False}))
    try:
        return function(*arguments, **keywords)
    except (RuntimeError, NotImplementedError) as error:
        kind = keywords.get("dtype")
        if kind not in _NARROW or not widening._MISSING.search(str(error)):
            raise
        return function(*arguments, **{**keywords, "dtype": torch.float32}).to(kind)


def _finish(made, number, name, needs_gradient):
    made = to_device(made.detach(), number, not name.startswith(("empty", "new_empty")))
    return made.requires_grad_(True) if needs_gradient else made


def _maker(name, function):
    @functools.wraps(function)
    def make(*arguments, **keywords):
        number = device_number(keywords.get("device"))
        if number is None:
            if name in ("as_tensor", "asarray") and arguments and isinstance(arguments[0], DeviceTensor):
                source = moving.on_host(arguments[0]) if _is_cpu(keywords.get("device")) else arguments[0]
                return source.to(keywords.get("dtype") or source.dtype)
            return _on_host(function, arguments, keywords)
        keywords["device"] = "cpu"
        keywords.pop("pin_memory", None)
        needs_gradient = keywords.pop("requires_grad", False)
        if name in _RANDOM and keywords.get("generator") is None:
            keywords["generator"] = generators.default(number)
        if arguments and isinstance(arguments[0], torch.Tensor) and name in ("as_tensor", "asarray", "tensor"):
            kind = keywords.get("dtype") or arguments[0].dtype
            made = moving.on_device(arguments[0], number, copy=name == "tensor").to(kind)
            return made.detach().requires_grad_(True) if needs_gradient else made
        if name in ("empty", "empty_strided", "empty_permuted"):
            # An uninitialised result needs no host memory.
            shape = function(*arguments, **{**keywords, "device": "meta"})
            made = wrap(memory.empty(shape, number), number)
            return made.requires_grad_(True) if needs_gradient else made
        return _finish(_on_host(function, arguments, keywords), number, name, needs_gradient)

    return make


# torch's own versions of these functions take no generator, so fill a new tensor instead.
_FILLS = {
    "rand_like": lambda made: made.uniform_(),
    "randn_like": lambda made: made.normal_(),
    "randint_like": lambda made, *bounds: made.random_(*(bounds if len(bounds) == 2 else (0, *bounds))),
}


def _like(name, function):
    @functools.wraps(function)
    def make(first, *arguments, **keywords):
        asked = keywords.get("device")
        is_there = isinstance(first, DeviceTensor)
        number = device_number(asked)
        if number is None:
            if not is_there:
                return _on_host(function, (first, *arguments), keywords)
            if _is_cpu(asked):
                return _on_host(function, (plain(first), *arguments), keywords)
            number = index_of(first)
        keywords["device"] = None
        needs_gradient = keywords.pop("requires_grad", False)
        with torch.no_grad():
            if name in _FILLS:
                bounds = [keywords.pop(key) for key in ("low", "high") if key in keywords]
                made = torch.empty_like(first, **{**keywords, "device": torch.device("cuda", number)})
                made = _FILLS[name](made, *arguments, *bounds)
            else:
                source = plain(first) if is_there else first
                made = _finish(_on_host(function, (source, *arguments), keywords), number, name, False)
        return made.requires_grad_(True) if needs_gradient else made

    return make


def _to(self, *arguments, **keywords):
    """Tensor.to()."""
    non_blocking = keywords.pop("non_blocking", False)  # noqa: F841  copies have completed when they return
    asked = keywords.pop("device", None)
    arguments = list(arguments)
    if arguments and isinstance(arguments[0], torch.Tensor):
        other = arguments.pop(0)
        asked, kind = other.device, other.dtype
        arguments.insert(0, kind)
    elif arguments and (isinstance(arguments[0], (str, torch.device)) or type(arguments[0]) is int):
        asked = arguments.pop(0)
    elif arguments and arguments[0] is None:
        arguments.pop(0)
    if "other" in keywords:
        other = keywords.pop("other")
        asked, keywords["dtype"] = other.device, other.dtype
    if arguments and isinstance(arguments[0], torch.dtype):
        keywords["dtype"] = arguments.pop(0)
    if arguments:
        arguments.pop(0)  # non_blocking
    if arguments:
        keywords["copy"] = arguments.pop(0)
    number = device_number(asked)
    copy = keywords.pop("copy", False)
    result = self
    if number is not None:
        result = moving.on_device(self, number)
    elif asked is not None:
        if not _is_cpu(asked):
            return _original_to(self, asked, **keywords)
        result = moving.on_host(self)
    keywords = {key: value for key, value in keywords.items() if value is not None}
    if keywords:
        result = _original_to(result, **keywords)
    return result.clone() if copy and result is self else result


_original_to = torch.Tensor.to


def _cuda(self, device=None, non_blocking=False, memory_format=None):
    result = moving.on_device(self, streams.number_of(device))
    return result if memory_format is None else result.contiguous(memory_format=memory_format)


def _cpu(self, memory_format=None):
    result = moving.on_host(self)
    return result if memory_format is None else result.contiguous(memory_format=memory_format)


# ---- pinned host memory

_pinned = {}  # address -> bytes


def _pin_memory(self, device=None):
    if isinstance(self, DeviceTensor):
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if _is_pinned(self) or self.numel() == 0:
        return self
    tensor = memory.compact(self.detach())
    size = memory.storage_of(tensor).nbytes()
    address = libcuda.ask("cuMemHostAlloc", ctypes.c_void_p, size, 0)
    bytes_there = (ctypes.c_char * size).from_address(address)
    _pinned[address] = size
    weakref.finalize(bytes_there, _unpin, address, os.getpid()).atexit = False
    made = memory.view(memory.storage_of(torch.frombuffer(bytes_there, dtype=torch.uint8)), tensor)
    return made.copy_(tensor).requires_grad_(self.requires_grad)


def _unpin(address, process):
    if _pinned.pop(address, None) and process == os.getpid():
        libcuda.library().cuMemFreeHost(address)


def _is_pinned(self, device=None):
    return not isinstance(self, DeviceTensor) and memory.storage_of(self).data_ptr() in _pinned


_original_type = torch.Tensor.type


def _type(self, dtype=None, non_blocking=False, **_):
    """Tensor.type(): type names contain `cuda`."""
    if dtype is None:
        name = _original_type(self)
        is_named = not isinstance(self, DeviceTensor) or name.startswith("torch.cuda.")
        return name if is_named else name.replace("torch.", "torch.cuda.", 1)
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        return _original_type(self.cuda(), dtype.replace("torch.cuda.", "torch."))
    return _original_type(self, dtype)


def _load(original):
    @functools.wraps(original)
    def load(file, map_location=None, *arguments, **keywords):
        number = device_number(map_location) if isinstance(map_location, (str, torch.device)) else None
        if number is None:
            return original(file, map_location, *arguments, **keywords)
        return _everywhere(original(file, "cpu", *arguments, **keywords), lambda tensor: moving.on_device(tensor, number))

    return load


def _everywhere(value, change):
    """Applies `change` to the tensors in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        changed = change(value.detach())
        return torch.nn.Parameter(changed, value.requires_grad) if isinstance(value, torch.nn.Parameter) else changed
    if isinstance(value, dict):
        for key in value:
            value[key] = _everywhere(value[key], change)
        return value
    if type(value) in (list, tuple):
        return type(value)(_everywhere(one, change) for one in value)
    return value


def install():
    for name in _MAKERS:
        if hasattr(torch, name):
            setattr(torch, name, _maker(name, getattr(torch, name)))
    for name in _LIKE:
        setattr(torch, name, _like(name, getattr(torch, name)))
    for name in _NEW:
        setattr(torch.Tensor, name, _like(name, getattr(torch.Tensor, name)))
    for name, function in dict(
        to=_to, cuda=_cuda, cpu=_cpu, pin_memory=_pin_memory, is_pinned=_is_pinned, type=_type
    ).items():
        setattr(torch.Tensor, name, function)
    torch.load = _load(torch.load)
