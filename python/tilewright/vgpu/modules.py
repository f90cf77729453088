"""torch.nn.Module on devices, and gradients that torch's C++ creates."""

import functools

import torch

from .tensor import DeviceTensor, index_of, to_device


def install():
    module = torch.nn.Module
    module._apply = _apply(module._apply)
    if hasattr(torch.__future__, "set_swap_module_params_on_conversion"):
        torch.__future__.set_swap_module_params_on_conversion(True)  # keeps parameters' identity
    torch._has_compatible_shallow_copy_type = _compatible(torch._has_compatible_shallow_copy_type)
    function = torch.autograd.function.BackwardCFunction
    function.apply = _with_gradients_on_device(function.apply)
    torch.Tensor.data = _data(torch.Tensor.data)


def _compatible(original):
    @functools.wraps(original)
    def compatible(tensor, other):
        # C++ could swap device memory into a host tensor, but cannot make it a DeviceTensor.
        return isinstance(tensor, DeviceTensor) == isinstance(other, DeviceTensor) and original(tensor, other)

    return compatible


def _apply(original):
    """Module._apply() makes new parameters when they change device; parameters that modules share stay shared."""

    @functools.wraps(original)
    def apply(self, function, *arguments, **keywords):
        if getattr(apply, "is_inside", False):
            return original(self, function, *arguments, **keywords)
        before = [
            (module, name, parameter) for module in self.modules() for name, parameter in module._parameters.items()
        ]
        apply.is_inside = True
        try:
            result = original(self, function, *arguments, **keywords)
        finally:
            apply.is_inside = False
        first = {}
        for module, name, parameter in before:
            if parameter is not None:
                module._parameters[name] = first.setdefault(id(parameter), module._parameters[name])
        return result

    return apply


def _with_gradients_on_device(original):
    """torch's C++ makes zeros for outputs without a gradient on the host; backward() needs them on the device."""

    @functools.wraps(original)
    def apply(self, *gradients):
        device = next((index_of(one) for one in gradients if isinstance(one, DeviceTensor)), None)
        if device is not None:
            gradients = tuple(
                to_device(one.detach().contiguous(), device)
                if isinstance(one, torch.Tensor) and not isinstance(one, DeviceTensor)
                else one
                for one in gradients
            )
        return original(self, *gradients)

    return apply


def _data(original):
    def set_data(self, value):
        if isinstance(value, DeviceTensor) != isinstance(self, DeviceTensor):
            if hasattr(torch.utils, "swap_tensors"):
                torch.utils.swap_tensors(self, value.detach().requires_grad_(self.requires_grad))
                return
            raise RuntimeError(
                "`tensor.data = …` cannot move a tensor to another device on the virtual GPU with this torch; "
                "use `tensor = tensor.to(device)` or `module.to(device)`"
            )
        original.__set__(self, value)

    return property(lambda self: original.__get__(self), set_data)
