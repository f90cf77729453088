"""Every model compiles for every chip, except for the ops in refusals.py."""

import lowering
import pytest
import refusals
from catalog import MODELS
from jax import numpy as jnp


@pytest.fixture(scope="module", params=[f"{name}-{platform}" for name in MODELS for platform in lowering.PLATFORMS])
def program(request):
    name, platform = request.param.split("-")
    return name, platform, lowering.artifact(name, jnp.bfloat16, platform)[0]


@pytest.mark.parametrize("chip", lowering.CHIPS)
def test_the_model_compiles(program, chip, tmp_path):
    name, platform, artifact = program
    refused, _, output = lowering.compile(artifact, tmp_path, chip)
    expected = refusals.of(name, platform)
    assert all(not op.startswith("failed") for op in refused), output
    assert dict(refused) == expected, (
        f"{name} lowered for {platform}: {chip} refuses {lowering.describe(refused)}, but the table has "
        f"{lowering.describe(expected)}; refusals.py may only shrink\n{output[:3000]}"
    )


def test_the_table_has_models():
    assert set(refusals.REFUSED) <= set(MODELS)
    for name, platforms in refusals.REFUSED.items():
        assert platforms and set(platforms) <= set(lowering.PLATFORMS), name
        assert all(platforms.values()), f"{name}: remove what is empty"


def test_a_refusal_is_read():
    text = """E4070 target: 'stablehlo.sort' is not supported on the GPU yet
  note: from JAX …
  at train.py:12:5
'stablehlo.composite' "chlo.top_k" is not supported on the GPU yet
'stablehlo.custom_call' @cusolver_potrf_ffi is not supported on the GPU yet
"""
    assert list(lowering.refusals(text)) == ["sort", "chlo.top_k", "cusolver_potrf_ffi"]
    assert lowering.describe({"sort": 2, "fft": 1}) == "fft 1, sort 2"
