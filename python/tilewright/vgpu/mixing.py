"""Operands on different devices: an error on a GPU, although the virtual GPU could compute the result."""

import torch

# Functions whose tensors must all be on the same device; a CPU tensor without dimensions counts as a number.
_STRICT = set(
    "add sub mul div true_divide floor_divide remainder pow __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ "
    "__rtruediv__ __floordiv__ __mod__ __pow__ __iadd__ __isub__ __imul__ __itruediv__ add_ sub_ mul_ div_ eq ne lt le gt ge "
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ maximum minimum matmul __matmul__ mm bmm addmm baddbmm "
    "linear dot mv cat stack where allclose isclose equal masked_fill lerp addcmul addcdiv layer_norm".split()
)


def check(function, arguments, keywords):
    name = getattr(function, "__name__", "")
    if name not in _STRICT:
        return
    devices = {}
    for value in [*arguments, *keywords.values()]:
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(tensor, torch.Tensor):
                device = tensor.device
                if device.type != "cpu" or tensor.dim() > 0:
                    devices[str(device)] = True
    if len(devices) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{' and '.join(list(devices)[:2])}! (in {name})"
        )
