"""The models by name. Each is a step of a program: (state, *batch) -> (state, value)."""

import dataclasses

import gpt
import linear_algebra
import llama
import moe
import resnet
import unet
import vit


@dataclasses.dataclass(frozen=True)
class Model:
    """A model in one type.

    `value` says what the second result is: the "loss" of a training step, "tokens", or an "array".
    """

    step: callable
    state: object
    batch: callable  # the arguments of a step, by its number
    value: str = "loss"


MODELS = {
    "gpt_unrolled": lambda dtype: Model(*gpt.make(dtype, "unrolled")),
    "gpt_scan": lambda dtype: Model(*gpt.make(dtype, "scan")),
    "gpt_checkpoint": lambda dtype: Model(*gpt.make(dtype, "checkpoint")),
    "llama_greedy": lambda dtype: Model(*llama.make_greedy(dtype), value="tokens"),
    "llama_sampled": lambda dtype: Model(*llama.make_sampled(dtype), value="tokens"),
    "llama_loop": lambda dtype: Model(*llama.make_loop(dtype), value="tokens"),
    "resnet": lambda dtype: Model(*resnet.make(dtype)),
    "unet": lambda dtype: Model(*unet.make_training(dtype)),
    "unet_sampler": lambda dtype: Model(*unet.make_sampler(dtype), value="array"),
    "moe_ragged": lambda dtype: Model(*moe.make(dtype, "ragged")),
    "moe_einsum": lambda dtype: Model(*moe.make(dtype, "einsum")),
    "vit": lambda dtype: Model(*vit.make(dtype)),
    "linear_algebra": lambda dtype: Model(*linear_algebra.make(dtype), value="array"),
}
