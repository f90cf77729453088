"""Operations that torch implements on GPUs but not on CPUs."""

import re

import torch
from torch.utils._pytree import tree_map

_NARROW = (torch.float16, torch.bfloat16)
_MISSING = re.compile(r"not implemented for '(Half|BFloat16|ComplexHalf)'|expected scalar type \w+ but found (Half|BFloat16)")


# Positions of results that stay in f32, as on a GPU: means and deviations, which the gradients need.
_KEPT_WIDE = {"aten::native_layer_norm": (1, 2), "aten::native_group_norm": (1, 2)}
# Gradients that take those f32 values and return results of the input's type.
_TAKE_WIDE = {"aten::native_layer_norm_backward", "aten::native_group_norm_backward"}


def run(operation, arguments, keywords, written):
    """Runs an operation on plain tensors. If the CPU has no 16-bit kernel, computes in f32 and rounds once at the end."""
    own = _OWN.get(operation._schema.name)
    if own:
        return own(*arguments, **keywords)
    name = operation._schema.name
    if (name in _KEPT_WIDE or name in _TAKE_WIDE) and arguments[0].dtype in _NARROW:
        return _widened(operation, arguments, keywords, written)
    try:
        return operation(*arguments, **keywords)
    except (RuntimeError, NotImplementedError) as error:
        if "Expected a value of type 'Tensor'" in str(error):
            return operation(*_with_numbers_as_tensors(operation, arguments), **keywords)
        if not _MISSING.search(str(error)):
            raise
        return _widened(operation, arguments, keywords, written)


def _with_numbers_as_tensors(operation, arguments):
    """torch 1.13 dispatches `x | 3` as an operation on two tensors, one of which is the number 3."""
    is_double = any(isinstance(one, torch.Tensor) and one.dtype == torch.float64 for one in arguments)

    def converted(value, parameter):
        if str(parameter.type) != "Tensor" or not isinstance(value, (bool, int, float, complex)):
            return value
        return torch.tensor(value, dtype=torch.float64 if is_double and isinstance(value, float) else None)

    return tuple(converted(*pair) for pair in zip(arguments, operation._schema.arguments))


def _widened(operation, arguments, keywords, written):
    narrow, widened, is_mixed = [], {}, []

    def wide(value):
        if isinstance(value, torch.Tensor):
            if value.dtype in _NARROW:
                if id(value) not in widened:
                    narrow.append(value.dtype)
                    widened[id(value)] = value, value.float()
                return widened[id(value)][1]
            if value.is_floating_point():
                is_mixed.append(True)
        return value

    new_arguments, new_keywords = tree_map(wide, arguments), tree_map(wide, keywords)
    asked = new_keywords.get("dtype")
    if asked in _NARROW:
        new_keywords["dtype"] = torch.float32
    elif not narrow:
        raise RuntimeError(f"{operation} has no kernel for these types on the CPU")
    result = operation(*new_arguments, **new_keywords)
    back = {id(new): old for old, new in widened.values()}
    name = operation._schema.name
    stays_wide = asked is not None or (is_mixed and name not in _TAKE_WIDE)
    target = asked if asked in _NARROW else None if stays_wide else narrow[0]
    for tensor in written:
        if id(tensor) in widened:
            new = widened[id(tensor)][1]
            if new.shape != tensor.shape:
                tensor.resize_(new.shape)
            tensor.copy_(new)

    def narrowed(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in back:
            return back[id(value)]
        return value.to(target) if target is not None and value.dtype == torch.float32 else value

    if name in _KEPT_WIDE:
        return tuple(one if place in _KEPT_WIDE[name] else narrowed(one) for place, one in enumerate(result))
    return tree_map(narrowed, result)


def _unscale(gradients, found_infinite, inverse_scale):
    """For torch.cuda.amp.GradScaler: multiplies gradients by the inverse scale and records whether one is not finite."""
    for gradient in gradients:
        if not torch.isfinite(gradient.float()).all():
            found_infinite.fill_(1.0)
        gradient.copy_(gradient.float() * inverse_scale)


def _update_scale(scale, growth_tracker, found_infinite, growth_factor, backoff_factor, growth_interval):
    if found_infinite.item():
        scale.mul_(backoff_factor)
        growth_tracker.zero_()
    elif growth_tracker.item() + 1 == growth_interval:
        scale.mul_(growth_factor)
        growth_tracker.zero_()
    else:
        growth_tracker.add_(1)
    return scale


_OWN = {
    "aten::_amp_foreach_non_finite_check_and_unscale_": _unscale,
    "aten::_amp_update_scale_": _update_scale,
}
