"""Deletes and weakens what synchronises in kernels of Triton and CUTLASS, one instruction at a time.

The launches are recorded first (record_triton.py, GemmRunner), then MutationSuite repeats them. A mutant is found, or
shown benign by a rule with a reason, or left over: nothing was reported and no rule explains it. Originals are never
reported. --cross asks the rules about mutants that were found, too: two rules are too generous with wgmma, whose registers
the log does not have, and with cp.async, of which a lane waits for its own copies alone.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"])
TOOL = os.environ["TILEWRIGHT_VGPU_TOOL"]
sys.path.insert(0, str(HERE.parent / "cutlass"))

import test_cutlass  # noqa: E402

PROGRAMS = {
    "sm_90a": [
        "softmax", "softmax_online", "cross_entropy", "layer_norm_forward", "layer_norm_backward", "cumulative_sums",
        "sort_rows", "transpose_f32", "histogram", "matmul_f16", "matmul_persistent", "matmul_split_k",
        "matmul_stream_k", "matmul_two_blocks_in_a_cluster", "dot_chain", "descriptor_host_f16", "descriptor_persistent",
        "descriptor_grouped", "descriptor_warp_specialized", "attention_forward", "attention_by_descriptor",
        "look_back_scan", "spin_lock", "last_block_sums", "tickets", "poll_and_store", "cooperative_grid",
        "gluon_tma_copy", "gluon_tma_reduce", "gluon_async_copy_mbarrier", "gluon_wgmma_pipelined",
        "gluon_cluster_reduction", "gluon_multicast",
    ],
    "sm_80": ["matmul_f16", "attention_forward", "gluon_async_copy"],
}  # fmt: skip


def mutate(folder, least_mutants, most_left, most_contradictions):
    command = [BUILD / "test/vgpu/mutation/MutationSuite", "--seeds", "1", "--cross", folder]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=3000)
    print(result.stdout)
    assert result.returncode == 0, result.stdout[-10000:] + result.stderr
    mutants, left, reported = map(
        int, re.search(r"(\d+) mutants: .* (\d+) missed .* (\d+) originals with findings", result.stdout).groups()
    )
    contradictions = int(re.search(r"(\d+) found mutants that a rule calls benign", result.stdout).group(1))
    assert contradictions <= most_contradictions, result.stdout[-10000:]
    assert mutants >= least_mutants and left <= most_left and reported == 0, result.stdout[-10000:]


def emptied(name):
    folder = BUILD / "test/vgpu/mutation/recordings" / name
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    return folder


# (mutants at least, left over at most, found but benign by a rule at most). Left over are barriers of a part of the block in the
# warp-specialised kernel and in CUTLASS, waits that repeat what others wait for (CUTLASS's
# producers wait for all stages at their end), and a few whose harmlessness no rule shows.
EXPECTED = {"sm_90a": (950, 33, 9), "sm_80": (80, 4, 0), "cutlass": (200, 50, 2)}


@pytest.mark.parametrize("chip", list(PROGRAMS))
def test_triton(chip):
    folder = emptied(chip)
    command = [TOOL, "run", f"--chip={chip}", "--threads=1", "--quiet", "--", sys.executable, str(HERE / "record_triton.py")]
    environment = {**os.environ, "TRITON_CACHE_DIR": str(BUILD / "triton-cache" / chip)}
    result = subprocess.run([*command, str(folder), *PROGRAMS[chip]], capture_output=True, text=True, timeout=1200, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    mutate(folder, *EXPECTED[chip])


@pytest.mark.skipif(not test_cutlass.NVCC or not test_cutlass.CUTLASS, reason="nvcc or the headers of CUTLASS are absent")
def test_cutlass_pingpong():
    folder = emptied("cutlass")
    made = test_cutlass.compiled("PINGPONG")
    runner = BUILD / "test/vgpu/cutlass/GemmRunner"
    # More tiles than blocks and a longer K than there are stages, so every barrier comes round again.
    command = [runner, made / "gemm.so", made / "gemm.ptx", "--record", folder / "pingpong", "255,144,784,2"]
    subprocess.run([str(word) for word in command], check=True, timeout=300)
    mutate(folder, *EXPECTED["cutlass"])
