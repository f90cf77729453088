"""Exposed communication of training steps on 64 H100, in our order and in those of XLA's GPU compiler.

    python test/jax/distribution/orders.py

A layer has the dimensions of Llama 70B: width 8,192, 64 heads, 28,672 hidden units; bf16, 2,048 tokens a sequence, 64 sequences, 4 layers.
All orders have the same steps, those of our program, at the same prices: published measurements of H100 (tilewright/predict). `xla` is XLA without, `xla latency
hiding` with its latency-hiding scheduler, which is the default on H100; tilewright/predict/XlaOrder.h says what is modelled.
"""

import csv
import dataclasses
import os
import pathlib
import sys
import tempfile

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=64"

import anchors  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import lowering  # noqa: E402
import transformer  # noqa: E402

LAYERS = 4
CLUSTER = "h100x64"
SIZES = {"BATCH": 64, "SEQUENCE": 2048, "WIDTH": 8192, "HEADS": 64, "HEAD": 128, "HIDDEN": 28672, "VOCABULARY": 32000}
STEPS = {
    "DP 64": ("dp", {"data": 64}),
    "FSDP 64": ("fsdp", {"fsdp": 64}),
    "DPxTP 8x8": ("dp_tp", {"data": 8, "model": 8}),
    "DPxTP+SP 8x8": ("dp_tp_sp", {"data": 8, "model": 8}),
    "FSDPxTP 8x8": ("fsdp_tp", {"fsdp": 8, "model": 8}),
}


# In our own program, collectives are sent in pieces beside products where that pays by the prices of the cluster. XLA does not do that by
# default on GPUs (its threshold is 100,000 MiB), so its orders are those of the program without.
WHOLE, WINDOWED = "--communicate.windows=never", "--communicate.windows=auto"


def orders_of(artifact, option):
    """{order: {"seconds": …, "exposed": …}} of the program that one option of the compiler makes."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "step.mlirbc").write_bytes(artifact)
        lowering.run("tilewright", "predict", folder / "step.mlirbc", f"--cluster={CLUSTER}", option,
                     f"--compile.dump-dir={folder}/stages")  # fmt: skip
        (lower,) = (folder / "stages").glob("*-lower.mlir")
        printed = lowering.run("tilewright-opt", lower, "-o", "/dev/null",
                               f"--pass-pipeline=builtin.module(func.func(schedule-compare-orders{{cluster={CLUSTER}}}))")  # fmt: skip
    rows = csv.DictReader(printed.splitlines())
    return {row.pop("order"): {column: float(value) for column, value in row.items()} for row in rows}


def compare(step):
    """{order: {"seconds": …, "exposed": …}} of one step: the orders of whole collectives, and ours with pieces."""
    name, mesh = STEPS[step]
    transformer.resize(**SIZES, TYPE=jnp.bfloat16)
    anchor = anchors.ANCHORS[name]
    lowered = lowering.lower_anchor(dataclasses.replace(anchor, scheme=dataclasses.replace(anchor.scheme, mesh=mesh)), LAYERS)
    artifact = lowering.artifact_of(lowered)
    orders = orders_of(artifact, WHOLE)
    orders["ours, whole"] = orders["ours"]
    orders["ours"] = orders_of(artifact, WINDOWED)["ours"]
    return orders


def main():
    print("| step | order | step, ms | communication, ms | exposed, ms | ours / it |\n|---|---|---|---|---|---|")
    for step in sys.argv[1:] or STEPS:
        rows = compare(step)
        for order, row in rows.items():
            ratio = rows["ours"]["exposed"] / row["exposed"] if row["exposed"] else 1
            print(f"| {step} | {order} | {1e3 * row['seconds']:.1f} | {1e3 * row['communication']:.1f} | {1e3 * row['exposed']:.1f} | {ratio:.2f} |",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
