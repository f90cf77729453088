"""Tensors on `cuda`.

A DeviceTensor is a torch tensor whose storage is in the memory of a virtual device. To torch's C++ it is a CPU tensor,
so autograd, views and shapes are torch's own. Below autograd, `__torch_dispatch__` runs each operation with torch's CPU
kernels and puts new results into device memory. Python (`device`, `is_cuda`, `type()`, `repr()`) sees a tensor on
`cuda:N`.
"""

import torch
from torch.utils._pytree import tree_flatten, tree_map

from . import autocast, generators, memory, mixing, streams, widening

# Operations with uninitialised results: the checker reports reads of them.
_EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}


class DeviceTensor(torch.Tensor):
    """Created by wrap() only."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        mixing.check(function, arguments, keywords)
        if torch.is_autocast_enabled():
            arguments, keywords = autocast.cast(function, arguments, keywords)
        return torch._C._disabled_torch_function_impl(function, types, arguments, keywords)

    @classmethod
    def __torch_dispatch__(cls, operation, types, arguments=(), keywords=None):
        return run(operation, arguments, keywords or {})

    @property
    def device(self):
        return torch.device("cuda", index_of(self))

    @property
    def is_cuda(self):
        return True

    @property
    def is_cpu(self):
        return False

    def get_device(self):
        return index_of(self)

    def __repr__(self, *, tensor_contents=None):
        text = repr(plain(self).detach())
        parts = [f"device='cuda:{index_of(self)}'"]
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        text = ", ".join([text.rstrip().removesuffix(")"), *parts]) + ")"
        return f"Parameter containing:\n{text}" if getattr(self, "_is_param", False) else text

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user support the deepcopy protocol at the moment")
        if id(self) in memo:
            return memo[id(self)]
        copied = wrap(memory.moved(plain(self).clone(), index_of(self)), index_of(self))
        copied.requires_grad_(self.requires_grad)
        copied.__dict__.update({name: value for name, value in self.__dict__.items() if name != "_index"})
        if self.grad is not None:
            copied.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol):
        # A saved file must be readable without this package, so it contains a CPU tensor.
        return plain(self).clone().requires_grad_(self.requires_grad).__reduce_ex__(protocol)

    def numpy(self, *_, **__):
        raise TypeError(
            f"can't convert cuda:{index_of(self)} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __array__(self, *_, **__):
        self.numpy()

    def tolist(self):
        streams.wait_for_current()
        return plain(self).tolist()

    def is_pinned(self, *_):
        return False

    def is_shared(self):
        return False

    def record_stream(self, stream):
        """Does nothing: memory is freed only after all work of its context."""


def index_of(tensor):
    return tensor.__dict__.get("_index", 0)


def wrap(tensor, device):
    """Makes a DeviceTensor of a plain tensor that is empty or in device memory."""
    made = torch.Tensor._make_subclass(DeviceTensor, tensor)
    made._index = device
    return made


def plain(tensor):
    """The same memory as a plain torch tensor, without a gradient."""
    if tensor.layout != torch.strided:
        with memory.without_dispatch():
            return tensor.detach()
    return memory.view(memory.storage_of(tensor), tensor)


def to_device(tensor, device, is_written=True):
    """Copies a plain tensor to a device. No gradient passes through it."""
    return wrap(memory.moved(tensor, device, is_written), device)


def _mutated(operation, arguments, keywords):
    """The arguments that the operation writes, according to its schema."""
    for number, parameter in enumerate(operation._schema.arguments):
        alias = parameter.alias_info
        if alias is None or not alias.is_write:
            continue
        value = keywords.get(parameter.name) if parameter.kwarg_only or number >= len(arguments) else arguments[number]
        yield from value if isinstance(value, (list, tuple)) else [value]


def run(operation, arguments, keywords):
    """Runs one torch operation on the host, with its results in device memory."""
    is_captured = streams.is_capturing()
    if not is_captured:
        streams.wait_for_current()
    wrappers = {}  # id of a plain tensor -> the tensor, which keeps the id valid, and its DeviceTensor
    devices = []

    def unwrapped(value):
        if isinstance(value, DeviceTensor):
            tensor = plain(value)
            wrappers[id(tensor)] = tensor, value
            devices.append(index_of(value))
            return tensor
        if isinstance(value, torch.Tensor):
            wrappers[id(value)] = value, value  # a host tensor that an operation returns stays on the host
        return value

    name = operation._schema.name.partition("::")[2]
    plain_arguments, plain_keywords = tree_map(unwrapped, tuple(arguments)), tree_map(unwrapped, dict(keywords))
    device = devices[0] if devices else 0
    generators.choose(operation, plain_arguments, plain_keywords, device)
    written = [one for one in _mutated(operation, plain_arguments, plain_keywords) if isinstance(one, torch.Tensor)]
    if name == "resize_" and devices:
        _make_room(*plain_arguments[:2])
    result = widening.run(operation, plain_arguments, plain_keywords, written)
    for tensor in written:
        _, wrapper = wrappers[id(tensor)]
        if isinstance(wrapper, DeviceTensor):
            _settle(tensor, wrapper)

    def wrapped(value):
        if not isinstance(value, torch.Tensor) or isinstance(value, DeviceTensor):
            return value
        if id(value) in wrappers:
            return wrappers[id(value)][1]
        if value.layout != torch.strided:
            return wrap(value, device)
        return to_device(value, device, name not in _EMPTY)

    outside = tree_map(wrapped, result)
    if is_captured:
        _record(operation, plain_arguments, plain_keywords, written, outside)
    return outside


def _record(operation, arguments, keywords, written, outside):
    """Adds a graph node that runs the operation again and writes to the memory of its results."""
    outputs = [plain(one) if isinstance(one, DeviceTensor) else one for one in tree_flatten(outside)[0]]

    def again():
        results = tree_flatten(widening.run(operation, arguments, keywords, written))[0]
        for output, value in zip(outputs, results):
            if isinstance(value, torch.Tensor) and value.data_ptr() != output.data_ptr():
                output.copy_(value)

    streams.record(again, outputs)


def _settle(tensor, wrapper):
    """Updates the DeviceTensor after an operation wrote `tensor`: same storage and shape. Tells the checker about the write."""
    storage = memory.storage_of(tensor)
    device = index_of(wrapper)
    if storage.nbytes() and memory.device_of(storage) is None:
        tensor = memory.moved(tensor, device)  # it was empty and has grown
        storage = memory.storage_of(tensor)
    else:
        memory.wrote(tensor)
    same = (
        tensor.size() == wrapper.size()
        and tensor.stride() == wrapper.stride()
        and tensor.storage_offset() == wrapper.storage_offset()
        and storage.data_ptr() == memory.storage_of(wrapper).data_ptr()
    )
    if not same:
        with memory.without_dispatch():
            torch.Tensor.set_(wrapper, storage, tensor.storage_offset(), tensor.size(), tensor.stride())


def _make_room(tensor, size):
    """Device memory cannot grow in place: gives `tensor` a storage that resize_() need not enlarge."""
    count = 1
    for length in size:
        count *= int(length)
    needed = (tensor.storage_offset() + count) * tensor.element_size()
    storage = memory.storage_of(tensor)
    device = memory.device_of(storage)
    if device is None or needed <= storage.nbytes():
        return
    larger = memory.new_storage(needed, device)
    before, after = (torch.empty(0, dtype=torch.uint8).set_(one) for one in (storage, larger))
    after[: storage.nbytes()].copy_(before)
    tensor.set_(larger, tensor.storage_offset(), tensor.size(), tensor.stride())
