"""Exposed communication of training steps on 64 H100, in our order and in those of XLA's GPU compiler.

    python test/jax/distribution/orders.py

A layer has the dimensions of Llama 70B: width 8,192, 64 heads, 28,672 hidden units; bf16, 2,048 tokens a sequence, 64 sequences, 4 layers.
All orders have the same steps, those of our program, at the same prices: published measurements of H100 (tilewright/predict). `xla` is XLA without, `xla latency
hiding` with its latency-hiding scheduler, which is the default on H100; tilewright/transform/schedule/XlaOrder.h says what is modelled.
"""

import csv
import dataclasses
import os
import pathlib
import tempfile

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=64"

import anchors  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import lowering  # noqa: E402
import transformer  # noqa: E402

LAYERS = 4
SIZES = {"BATCH": 64, "SEQUENCE": 2048, "WIDTH": 8192, "HEADS": 64, "HEAD": 128, "HIDDEN": 28672, "VOCABULARY": 32000}
STEPS = {
    "DP 64": ("dp", {"data": 64}),
    "FSDP 64": ("fsdp", {"fsdp": 64}),
    "DPxTP 8x8": ("dp_tp", {"data": 8, "model": 8}),
    "DPxTP+SP 8x8": ("dp_tp_sp", {"data": 8, "model": 8}),
    "FSDPxTP 8x8": ("fsdp_tp", {"fsdp": 8, "model": 8}),
}


def compare(step):
    """{order: {"seconds": …, "exposed": …}} of one step."""
    name, mesh = STEPS[step]
    transformer.resize(**SIZES, TYPE=jnp.bfloat16)
    anchor = anchors.ANCHORS[name]
    lowered = lowering.lower_anchor(dataclasses.replace(anchor, scheme=dataclasses.replace(anchor.scheme, mesh=mesh)), LAYERS)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "step.mlirbc").write_bytes(lowering.artifact_of(lowered))
        lowering.run("tilewright", "compile", folder / "step.mlirbc", f"--output={folder}/step.twx",
                     f"--compile.dump-dir={folder}/stages")  # fmt: skip
        (lower,) = (folder / "stages").glob("*-lower.mlir")
        printed = lowering.run("tilewright-opt", lower, "-o", "/dev/null",
                               "--pass-pipeline=builtin.module(func.func(schedule-compare-orders{cluster=h100x64}))")  # fmt: skip
    rows = csv.DictReader(printed.splitlines())
    return {row.pop("order"): {column: float(value) for column, value in row.items()} for row in rows}


def main():
    print("| step | order | step, ms | communication, ms | exposed, ms |\n|---|---|---|---|---|")
    for step in STEPS:
        for order, row in compare(step).items():
            print(f"| {step} | {order} | {1e3 * row['seconds']:.1f} | {1e3 * row['communication']:.1f} | {1e3 * row['exposed']:.1f} |")


if __name__ == "__main__":
    main()
