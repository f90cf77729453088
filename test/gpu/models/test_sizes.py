"""Models of real sizes compile for every chip: widths, sequences of odd lengths and images as programs have them, and few layers.

    pytest test/gpu/models/test_sizes.py -k "gpt_scan and gfx950"

The other tests run models that are small enough for the virtual GPU, whose products have few tiles. With a width and a length of 1024, a GPT did not
compile for two chips: the cost model had chosen tiles of 256x256 for its scores. ResNet's compilation took 37 s, and a sum over its pixels had two
blocks, each of which computed the gradient of a maximum at single indices.
"""

import importlib
import re

import lowering
import pytest
from jax import numpy as jnp

CHIPS = ("sm_80", "sm_90a", "sm_100a", "sm_120a", "gfx942", "gfx950")
GPT = {"WIDTH": 768, "HEADS": 12, "LENGTH": 1023, "VOCABULARY": 50257}
# Model: its module, and the sizes there.
SIZES = {
    "gpt_unrolled": ("gpt", GPT),
    "gpt_scan": ("gpt", GPT | {"WIDTH": 1024, "HEADS": 16, "VOCABULARY": 32000}),
    "gpt_checkpoint": ("gpt", GPT | {"WIDTH": 2048, "HEADS": 16, "LENGTH": 300, "VOCABULARY": 32000}),
    "llama_sampled": ("llama", {"WIDTH": 2048, "HEADS": 16, "SHARED": 4, "HEAD": 128, "LENGTH": 1000, "VOCABULARY": 32000}),
    "resnet": ("resnet", {"CHANNELS": (64, 256), "IMAGE": 224, "CLASSES": 1000, "BATCH": 8}),
    "unet": ("unet", {"CHANNELS": 128, "GROUPS": 32, "IMAGE": 64, "BATCH": 4}),
    "moe_ragged": ("moe", {"WIDTH": 1024, "HIDDEN": 4096, "EXPERTS": 8, "TOKENS": 2000, "CAPACITY": 1024}),
    "moe_einsum": ("moe", {"WIDTH": 1024, "HIDDEN": 4096, "EXPERTS": 8, "TOKENS": 2000, "CAPACITY": 1024}),
    "vit": ("vit", {"WIDTH": 768, "HEADS": 12, "PATCH": 16, "IMAGE": 224, "CLASSES": 1000, "BATCH": 8}),
}


@pytest.fixture(scope="module", params=SIZES)
def program(request):
    module, sizes = SIZES[request.param]
    with pytest.MonkeyPatch.context() as patch:
        for name, size in sizes.items():
            assert hasattr(importlib.import_module(module), name)
            patch.setattr(f"{module}.{name}", size)
        return lowering.artifact(request.param, jnp.bfloat16, "cuda")[0]


# The bytes that a block reads and writes, at most: here 16 MB, of a convolution's gradient.
BYTES_OF_BLOCK = 32e6


@pytest.mark.parametrize("chip", CHIPS)
def test_the_model_compiles(program, chip, tmp_path):
    refused, _, output = lowering.compile(program, tmp_path, chip, f"--compile.dump-dir={tmp_path}/dump")
    assert not refused, output[:3000]
    (tiled,) = (tmp_path / "dump").glob("*-tile.mlir")
    most = max((int(size), name) for name, size in re.findall(r"exec\.launch @(\w+)\(.*?exec\.cost = \{bytes = (\d+)", tiled.read_text()))
    assert most[0] <= BYTES_OF_BLOCK, most
