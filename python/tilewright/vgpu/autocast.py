"""torch.autocast("cuda"): torch's C++ only casts real CUDA tensors, and DeviceTensors are not."""

import torch

# The lists of torch's documentation, "CUDA Ops that can autocast to float16" and "… to float32".
_LOW = set(
    "__matmul__ __rmatmul__ addbmm addmm addmv addr baddbmm bmm chain_matmul multi_dot conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d linear matmul mm mv prelu einsum bilinear "
    "scaled_dot_product_attention".split()
)
_FULL = set(
    "__pow__ __rdiv__ __rpow__ __rtruediv__ acos asin cosh cosine_embedding_loss cdist cosine_similarity cross_entropy "
    "cumprod cumsum dist erfinv exp expm1 group_norm hinge_embedding_loss kl_div l1_loss layer_norm log log10 log_softmax "
    "log1p log2 margin_ranking_loss mse_loss multilabel_margin_loss multi_margin_loss nll_loss norm normalize pdist "
    "poisson_nll_loss pow prod reciprocal rsqrt sinh smooth_l1_loss soft_margin_loss softmax softmin softplus sum renorm "
    "tan triplet_margin_loss".split()
)
_NARROW = (torch.float16, torch.bfloat16)


def _low_type():
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype("cuda")
    return torch.get_autocast_gpu_dtype()


def cast(function, arguments, keywords):
    """Casts the arguments as autocast requires for this function."""
    name = getattr(function, "__name__", "")
    if name in _LOW:
        target, changes = _low_type(), lambda kind: kind in (torch.float32, *_NARROW)
    elif name in _FULL:
        target, changes = torch.float32, lambda kind: kind in _NARROW
    else:
        return arguments, keywords

    def converted(value):
        if isinstance(value, torch.Tensor):
            # Inside the function a Parameter need not stay one.
            return value.to(target) if changes(value.dtype) and value.dtype != target else value
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(converted(one) for one in value)
        return value

    return tuple(converted(value) for value in arguments), {key: converted(value) for key, value in keywords.items()}
