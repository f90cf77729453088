"""A transformer learns on several processes what it learns on one device.

    pytest test/jax/plugin/test_parallel_training.py -k grid --training-steps 100
    pytest test/jax/plugin/test_parallel_training.py -k scheme --training-steps 50

First on a 2 x 2 grid, data by model parallel, written with shard_map: 4 processes of a device, 2 of two. Then GPT and a mixture of
experts on 8 processes, divided by the compiler: DP, FSDP, TP, TP+SP, FSDP x TP, EP (../distribution/train.py).

What may differ is the order of sums: a sum over 256 hidden units is two sums of 128 that are added, the mean over the
batch two means, and each kernel has an order of its own. Each such sum is off by at most some 256 / 2 roundings of 6e-8,
by their square root if they are independent, and the loss of a step is a mean over 256 such values of size 1 to 4: a few
1e-7 in the first step. Training passes the weights' errors on; over 100 steps at this rate it has not multiplied them
much (jaxlib on 4 devices against jaxlib on one: 5e-7). The bound is 1e-5 for the loss of every step: 20 times
that, and 1/3,000 of what one step's learning changes. The same run in f64 says whether we are further from the
truth than jaxlib in f32, which no bound of ours can hide.
"""

import json
import os
import pathlib
import socket
import subprocess
import time

import numpy
import pytest

TESTS = pathlib.Path(__file__).parents[1]
GRID, SCHEMES = TESTS / "scripts/parallel_transformer.py", TESTS / "distribution/train.py"
BOUND = 1e-5
SECONDS = 600


def start(python, platform, script, *arguments, log, devices=1):
    """Runs as for a user: nothing of the source tree but the script itself and what lies beside it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_", "PYTHON"))}
    kept |= {"JAX_PLATFORMS": platform, "JAX_NUM_CPU_DEVICES": str(devices)}
    return subprocess.Popen([python, script, *map(str, arguments)], env=kept, stdout=log.open("w"),
                            stderr=log.with_suffix(".err").open("w"))


def losses_of(processes, logs):
    """The output of each process, after all of them have ended without an error."""
    until = time.monotonic() + SECONDS
    try:
        for process, log in zip(processes, logs):
            code = process.wait(max(until - time.monotonic(), 0.1))
            assert code == 0, f"ended with {code}\n{log.with_suffix('.err').read_text()[-3000:]}"
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    return [numpy.array(json.loads(log.read_text().splitlines()[-1])["loss"]) for log in logs]


def alone(python, folder, platform, script, *arguments):
    log = folder / f"{platform}-{'-'.join(map(str, arguments))}.log"
    return losses_of([start(python, platform, script, *arguments, log=log)], [log])[0]


def together(python, folder, count, script, *arguments, devices=1):
    """The losses of `count` processes, which all ranks must agree on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    logs = [folder / f"{rank}.log" for rank in range(count)]
    processes = [start(python, "tilewright", script, *arguments, "--coordinator", coordinator, "--rank", rank, log=log,
                       devices=devices) for rank, log in enumerate(logs)]
    losses = losses_of(processes, logs)
    for loss in losses[1:]:
        numpy.testing.assert_array_equal(loss, losses[0], "the loss is one number, the same on every rank")
    return losses[0]


@pytest.fixture(scope="session")
def on_one_device(installed, tmp_path_factory, pytestconfig):
    """Losses of our run, of jaxlib's, and of jaxlib's in f64."""
    steps = pytestconfig.getoption("--training-steps")
    folder = tmp_path_factory.mktemp("one")
    return (alone(installed, folder, "tilewright", GRID, "--steps", steps), alone(installed, folder, "cpu", GRID, "--steps", steps),
            alone(installed, folder, "cpu", GRID, "--steps", steps, "--type", "float64"))


@pytest.mark.parametrize("count, devices", [(4, 1), (2, 2)])
def test_a_grid_learns_as_one_device(installed, on_one_device, tmp_path, pytestconfig, count, devices):
    steps = pytestconfig.getoption("--training-steps")
    grid = together(installed, tmp_path, count, GRID, "--grid", 2, 2, "--steps", steps, "--processes", count, devices=devices)
    one, theirs, truth = on_one_device
    assert grid.shape == one.shape == theirs.shape == truth.shape == (steps,)

    apart = {name: numpy.max(numpy.abs(a - b)) for name, a, b in (
        ("2 x 2 and one device", grid, one), ("2 x 2 and jaxlib on one device", grid, theirs),
        ("one device and jaxlib's", one, theirs), ("2 x 2 and f64", grid, truth),
        ("jaxlib and f64", theirs, truth))}
    print(f"\n{count} processes of {devices} device(s), {steps} steps, loss {grid[0]:.4f} to {grid[-1]:.4f}")
    print("largest difference of any step between")
    for name, value in apart.items():
        print(f"  {name}: {value:.1e}")
    assert max(apart.values()) <= BOUND, apart
    assert truth[-1] < truth[0], "it did not learn"


@pytest.mark.parametrize("scheme", ["gpt-dp", "gpt-fsdp", "gpt-tp", "gpt-tp_sp", "gpt-fsdp_tp",
                                    "moe-dp", "moe-fsdp", "moe-tp", "moe-tp_sp", "moe-fsdp_tp", "moe-ep"])  # fmt: skip
def test_a_scheme_learns_as_one_device(installed, tmp_path, pytestconfig, scheme):
    steps = pytestconfig.getoption("--training-steps")
    arguments = SCHEMES, scheme, "--steps", steps
    ours, theirs = (alone(installed, tmp_path, platform, *arguments) for platform in ("tilewright", "cpu"))
    sharded = together(installed, tmp_path, 8, *arguments)
    assert sharded.shape == ours.shape == theirs.shape == (steps,)
    apart = {"one device": numpy.max(numpy.abs(sharded - ours)), "jaxlib on one device": numpy.max(numpy.abs(sharded - theirs))}
    print(f"\n{scheme} on 8 processes, {steps} steps, loss {sharded[0]:.4f} to {sharded[-1]:.4f}; largest difference of any step to",
          ", ".join(f"{name} {value:.1e}" for name, value in apart.items()))
    assert max(apart.values()) <= BOUND, apart
    assert sharded[-1] < sharded[0], "it did not learn"
