"""Copies tensors from the host to a device and back, with gradients."""

import torch

from . import memory, streams
from .tensor import DeviceTensor, index_of, plain, to_device, wrap


class _ToDevice(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor, device):
        context.source = index_of(tensor) if isinstance(tensor, DeviceTensor) else None
        return _copied(tensor, device)

    @staticmethod
    def backward(context, gradient):
        if context.source is None:
            return _host_copy(gradient), None
        return _copied(gradient, context.source), None


class _ToHost(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor):
        context.source = index_of(tensor)
        return _host_copy(tensor)

    @staticmethod
    def backward(context, gradient):
        return _copied(gradient, context.source)


def _host_copy(tensor):
    if not isinstance(tensor, DeviceTensor):
        return tensor
    streams.wait_for_current()
    found = plain(tensor)
    return found.clone() if found.layout == torch.strided else found


def _copied(tensor, device):
    """A new tensor on the device."""
    if isinstance(tensor, DeviceTensor):
        streams.wait_for_current()
        tensor = plain(tensor).clone()
    elif tensor.layout == torch.strided:
        tensor = memory.compact(tensor.detach())
    if tensor.layout != torch.strided:
        return wrap(tensor.detach(), device)
    return to_device(tensor, device)


def _needs_gradient(tensor):
    return torch.is_grad_enabled() and tensor.requires_grad


def on_device(tensor, device, copy=False):
    """tensor.to(f"cuda:{device}"): returns the tensor itself if it is there already."""
    if isinstance(tensor, DeviceTensor) and index_of(tensor) == device and not copy:
        return tensor
    return _ToDevice.apply(tensor, device) if _needs_gradient(tensor) else _copied(tensor, device)


def on_host(tensor):
    """tensor.cpu()"""
    if not isinstance(tensor, DeviceTensor):
        return tensor
    return _ToHost.apply(tensor) if _needs_gradient(tensor) else _host_copy(tensor)
