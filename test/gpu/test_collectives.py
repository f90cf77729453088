"""Programs with collectives on several virtual GPUs, from JAX: in one process, and in several through jax.distributed.

    pytest test/gpu/test_collectives.py -k "agrees or processes"

The results are compared with those of as many CPU devices of jaxlib, number for number but for products. Then a GPT under DP, FSDP and TP, and a
mixture of experts under EP, train as on one device.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev"))
SCRIPT, TRAINING = ROOT / "test/gpu/collectives.py", ROOT / "test/gpu/sharded_training.py"
# Does the work of the wheel's entry point.
START = """
import runpy, sys
sys.path.insert(0, {python!r})
from tilewright import jax_plugin
jax_plugin.initialize()
runpy.run_path({script!r}, run_name="__main__")
"""
INEXACT = {"sharded_products": 5e-3, "gradients": 5e-3}  # products of f32 have the precision of tf32


def start(platform, devices, *arguments, script=SCRIPT, **variables):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    kept |= {"JAX_PLATFORMS": platform}
    if platform == "cpu":
        kept |= {"JAX_NUM_CPU_DEVICES": str(devices)}
        command = [sys.executable, str(script)]
    else:
        kept |= {"TILEWRIGHT_LIBRARY": str(BUILD / "lib/libtilewright_pjrt.so"), "TILEWRIGHT_TARGET": "vgpu:sm_90a",
                 "TILEWRIGHT_VGPU_DEVICES": str(devices), "TILEWRIGHT_VGPU_MEMORY": "1G"}  # fmt: skip
        command = [sys.executable, "-c", START.format(python=str(ROOT / "python"), script=str(script))]
    return subprocess.Popen([*command, *map(str, arguments)], env=kept | variables, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def results_of(process, seconds=600):
    out, error = process.communicate(timeout=seconds)
    assert process.returncode == 0, error[-4000:]
    return {each["name"]: each["results"] for each in map(json.loads, out.splitlines())}


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, results in theirs.items():
        assert len(ours[name]) == len(results), name
        for mine, other in zip(ours[name], results):
            assert mine["shape"] == other["shape"], name
            near = INEXACT.get(name, 0)
            numpy.testing.assert_allclose(mine["values"], other["values"], rtol=near, atol=near, err_msg=name)


@pytest.mark.parametrize("count", [2, 4])
def test_forms_that_nccl_does_not_know_agree_with_numpy(count):
    process = start("tilewright", count, script=ROOT / "test/gpu/forms.py")
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error[-4000:]
    assert out == "35 results agree with numpy\n"


@pytest.mark.parametrize("target, count, results", [("", 3, 22), ("", 4, 24), ("vgpu:sm_90a", 2, 22), ("vgpu:sm_90a", 4, 24), ("vgpu:sm_90a", 8, 24)],
                         ids=lambda value: value or "cpu")  # fmt: skip
def test_ragged_all_to_all_agrees_with_numpy(target, count, results):
    process = start("tilewright", count, script=ROOT / "test/gpu/ragged_exchange.py", TILEWRIGHT_TARGET=target, JAX_NUM_CPU_DEVICES=str(count))
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error[-4000:]
    assert out == f"{results} results agree with numpy\n"


@pytest.mark.parametrize("count", [4, 8])
def test_ragged_rows_by_kernels_of_our_own_agree_with_numpy(count):
    process = start("tilewright", count, script=ROOT / "test/gpu/ragged_exchange.py", TILEWRIGHT_RUNTIME_NCCL_LIBRARY="none")
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error[-4000:]
    assert out == "24 results agree with numpy\n"


@pytest.mark.parametrize("count", [2, 8])
def test_kernels_of_our_own_agree_with_jaxlib(count):
    ours, theirs = start("tilewright", count, TILEWRIGHT_RUNTIME_NCCL_LIBRARY="none"), start("cpu", count)
    assert_same(results_of(ours), results_of(theirs))


@pytest.mark.parametrize("count", [2, 8])
def test_small_collectives_by_kernels_of_our_own_agree_with_jaxlib(count, tmp_path):
    # NCCL makes its communicators, and executes none of these: all are small.
    log = tmp_path / "nccl.json"
    ours = start("tilewright", count, TILEWRIGHT_RUNTIME_NCCL_LIBRARY="priced", TILEWRIGHT_VGPU_NCCL_LOG=str(log))
    assert_same(results_of(ours), results_of(start("cpu", count)))
    called = {each["call"] for each in map(json.loads, log.read_text().splitlines())}
    assert "ncclCommSplit" in called and "ncclAllReduce" not in called


def test_ragged_rows_go_through_nccl_beside_kernels_of_our_own(tmp_path):
    log = tmp_path / "nccl.json"
    process = start("tilewright", 2, script=ROOT / "test/gpu/ragged_exchange.py", TILEWRIGHT_RUNTIME_NCCL_LIBRARY="priced", TILEWRIGHT_VGPU_NCCL_LOG=str(log))
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error[-4000:]
    assert out == "22 results agree with numpy\n"
    called = {each["call"] for each in map(json.loads, log.read_text().splitlines())}
    assert "ncclSend" in called and "ncclAlltoAll" not in called, "the offsets are exchanged by our kernels, the rows by NCCL"


@pytest.mark.parametrize("count", [2, 8])
def test_one_process_agrees_with_jaxlib(count):
    ours, theirs = start("tilewright", count), start("cpu", count)
    assert_same(results_of(ours), results_of(theirs))


def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def exchanges(log):
    """The collectives that each rank queued, in order: communicator, call, count, type."""
    by_rank = {}
    for each in map(json.loads, log.read_text().splitlines()):
        told = each["arguments"]
        if each["call"] in ("ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclAlltoAll", "ncclSend", "ncclRecv", "ncclBroadcast"):
            count = told.get("count", told.get("sendcount", told.get("recvcount")))
            by_rank.setdefault(each["rank"], []).append((each["communicator"], each["call"], count, told["datatype"]))
    return by_rank


def train(scheme, processes, devices, **variables):
    """The losses, which all processes agree on."""
    arguments = [[]]
    if processes > 1:
        coordinator = f"127.0.0.1:{port()}"
        arguments = [["--coordinator", coordinator, "--processes", processes, "--rank", rank] for rank in range(processes)]
    started = [start("tilewright", devices, scheme, *each, script=TRAINING, **variables) for each in arguments]
    try:
        results = [results_of(process) for process in started]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
    assert all(result == results[0] for result in results), "the loss is one number, the same on every rank"
    return numpy.array(results[0][scheme][0]["values"])


def expect_losses_of_one_device(scheme, processes, devices, tmp_path):
    """10 steps in bf16: sums over ranks have another order, and 5e-7 was measured."""
    log = tmp_path / "nccl.json"
    ours, alone = train(scheme, processes, devices, TILEWRIGHT_VGPU_NCCL_LOG=str(log)), train(scheme, 1, 1)
    apart = numpy.max(numpy.abs(ours - alone))
    print(f"{scheme} on {processes} x {devices}: loss {ours[0]:.4f} to {ours[-1]:.4f}, at most {apart:.1e} apart")
    assert ours.shape == (10,) and ours[-1] < ours[0] - 0.2
    assert apart <= 1e-3

    ranks = exchanges(log)
    assert sorted(ranks) == list(range(processes * devices))
    assert len(ranks[0]) >= 10 and all(order == ranks[0] for order in ranks.values()), "ranks queued collectives in different orders"


def test_survivors_of_a_killed_process_get_an_error_that_names_it(tmp_path):
    coordinator = f"127.0.0.1:{port()}"
    started = [start("tilewright", 1, "--coordinator", coordinator, "--processes", 3, "--rank", rank, "--folder", tmp_path,
                     script=ROOT / "test/gpu/killed.py") for rank in range(3)]  # fmt: skip
    try:
        told = [process.communicate(timeout=300) for process in started]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
    assert started[2].returncode == -signal.SIGKILL, told[2][1][-4000:]
    for (out, error), process in zip(told[:2], started):
        assert process.returncode == 0, error[-4000:]
        survivor = json.loads(out)
        print(f"after {survivor['seconds']:.2f} s: {survivor['error']}")
        assert survivor["sums"] == [3.0] * 3
        # NCCL and the membership notice it independently.
        assert survivor["error"] and re.search(r"\b(rank|process) 2\b", survivor["error"])


def test_processes_learn_as_one_device(tmp_path):
    expect_losses_of_one_device("fsdp", 4, 2, tmp_path)


def test_jobs_learn_by_kernels_of_our_own():
    ours, alone = train("fsdp", 4, 2, TILEWRIGHT_RUNTIME_NCCL_LIBRARY="none"), train("fsdp", 1, 1)
    apart = numpy.max(numpy.abs(ours - alone))
    print(f"fsdp on 4 x 2 by our own kernels: loss {ours[0]:.4f} to {ours[-1]:.4f}, at most {apart:.1e} apart")
    assert ours.shape == (10,) and ours[-1] < ours[0] - 0.2 and apart <= 1e-3


@pytest.mark.parametrize("scheme, processes, devices", [
    *((scheme, 1, 8) for scheme in ("dp", "fsdp", "tp", "moe-ep")), *((scheme, 4, 2) for scheme in ("dp", "tp", "moe-ep")),
], ids=lambda value: {1: "one", 8: "eight", 4: "four", 2: "two"}.get(value, value))  # fmt: skip
def test_a_scheme_learns_as_one_device(scheme, processes, devices, tmp_path):
    expect_losses_of_one_device(scheme, processes, devices, tmp_path)
