"""Prints what compiles and runs: a row for each model, platform of the lowering and chip.

    python test/gpu/models/report.py [--only gpt] [--chip sm_90a] [--dtype bfloat16] [--steps 3] [--platform cuda]

With --steps 0 nothing runs. Runs use the plugin, for which JAX lowers as for `cpu`. The last lines are the table that
refusals.py must have.
"""

import argparse
import pathlib
import tempfile

import catalog
import lowering
import running
from jax import numpy as jnp


def run(name, dtype, steps, chip):
    try:
        ours, theirs = running.on_gpu(name, dtype, steps, chip), running.on_jaxlib(name, dtype, steps)
    except running.Failed as failure:
        return f"failed: {str(failure).strip().splitlines()[-1][:100]}"
    apart = running.difference(ours["values"], theirs["values"], catalog.MODELS[name](jnp.float32).value)
    return f"{steps} steps of {ours['seconds']:.2f} s, {apart:.1e} apart"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--chip", default="", choices=["", *lowering.CHIPS])
    parser.add_argument("--platform", default="", choices=["", *lowering.PLATFORMS])
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--steps", type=int, default=3)
    given = parser.parse_args()
    chips = [given.chip] if given.chip else lowering.CHIPS
    platforms = [given.platform] if given.platform else lowering.PLATFORMS
    table = {}
    print(f"{'model':15} {'for':5} {'ops':>6} {'chip':7} {'compile':>8}  refused; steps run")
    for name in (name for name in catalog.MODELS if given.only in name):
        for platform in platforms:
            program, ops = lowering.artifact(name, jnp.dtype(given.dtype), platform)
            for chip in chips:
                with tempfile.TemporaryDirectory() as folder:
                    refused, seconds, _ = lowering.compile(program, pathlib.Path(folder), chip)
                words = lowering.describe(refused)
                if refused:
                    table.setdefault(name, {})[platform] = dict(sorted(refused.items()))
                elif platform == "cpu" and given.steps:
                    words += "; " + run(name, given.dtype, given.steps, chip)
                print(f"{name:15} {platform:5} {ops:6} {chip:7} {seconds:6.1f} s  {words}", flush=True)
    print("\nREFUSED = {")
    for name, refused in table.items():
        same = refused.get("cuda") == refused.get("cpu")
        words = f"both({refused['cuda']})" if same else str(refused)
        print(f'    "{name}": {words},'.replace("'", '"'))
    print("}")


if __name__ == "__main__":
    main()
