"""Our collective kernels beside NCCL's of the same kind: bytes moved and synchronising instructions, counted.

Both run with the same number of blocks, on the same virtual GPUs; NCCL's kernels are extracted from the installed library
when the test runs (test/vgpu/nccl). Skipped where NCCL 2.28 or cuobjdump is absent.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test/vgpu/nccl"))

import symmetric  # noqa: E402
import test_symmetric  # noqa: E402

pytestmark = test_symmetric.pytestmark
RANKS, BLOCKS = 4, 2
# Ours, and NCCL's kernel of the same kind.
PAIRS = [
    ("all_reduce one-shot f32 4096", "AllReduce_AGxLL_R_sum_f32", 4096),
    ("all_reduce direct f32 20000", "AllReduce_RSxLD_AGxST_sum_f32", 20000),
    ("all_reduce direct bf16 20000", "AllReduce_RSxLD_AGxST_sum_bf16", 20000),
    ("all_reduce multicast f32 20000", "AllReduce_RSxLDMC_AGxSTMC_sum_f32", 20000),
    ("all_gather direct i8 20000", "AllGather_ST", 20000),
    ("all_gather multicast i8 20000", "AllGather_STMC", 20000),
    ("reduce_scatter direct f32 5000", "ReduceScatter_LD_sum_f32", 5000),
    ("reduce_scatter multicast f32 5000", "ReduceScatter_LDMC_sum_f32", 5000),
]
# Instructions that order memory or make other threads wait. Loads that poll are not counted, neither as instructions nor
# as bytes: their number depends on which rank is late. In the LL protocol data and flag are polled together, so what is
# stored counts twice instead: as stored, and as loaded once.
ORDERS = re.compile(r"(?<!multimem\.)\b(fence|membar|(st|red|atom|multimem\.red)\.(relaxed\.sys|release|acq_rel))")
POLLS = re.compile(r"\bld\.(acquire|relaxed|volatile)")
LL_STORES = re.compile(r"\bst\.volatile\.\S*v4")


def environment(folder):
    return dict(
        os.environ,
        TILEWRIGHT_VGPU_CHIP=",".join(["sm_90a"] * RANKS),
        TILEWRIGHT_VGPU_DEVICES=str(RANKS),
        TILEWRIGHT_VGPU_CHECK="count",
        TILEWRIGHT_VGPU_COUNTS=str(folder),
        TILEWRIGHT_VGPU_ORDER="eager",
        TILEWRIGHT_VGPU_TIMEOUT="300",
    )


def totals(folder, ptx):
    """Bytes of global memory, and synchronising instructions of warps, of all launches in the folder."""
    lines = ptx.splitlines()
    moved = synchronising = 0
    reports = sorted(folder.rglob("*.counts.json"))
    assert reports, f"no counts in {folder}"
    for path in reports:
        report = json.loads(path.read_text(encoding="utf-8"))
        if report.get("kernel") == "copy":
            continue
        synchronising += report["total"]["barrier_waits"]
        for line in report["lines"]:
            text = lines[line["line"] - 1] if not line["file"] and line["line"] <= len(lines) else ""
            if ORDERS.search(text):
                synchronising += line["warp_instructions"]
            if not POLLS.search(text):
                times = 2 if LL_STORES.search(text) else 1
                moved += times * sum(line[f"global_{what}_bytes"] for what in ("read", "write", "atomic"))
    return moved, synchronising


def run_nccl(folder, name, count):
    """In a process of its own: one kernel of NCCL."""
    cuda = symmetric.Cuda(BUILD / "lib/vgpu/libcuda.so.1")
    cuda.cuInit(0)
    modules = symmetric.extract(test_symmetric.LIBRARY, folder, test_symmetric.find_cuobjdump())
    for text in modules:
        for kernel in map(symmetric.Kernel, symmetric.entries(text)):
            if kernel.name == name:
                team = symmetric.Team(cuda, RANKS)
                for device in team.devices:
                    device.load([text])
                team.run(kernel, count, blocks=BLOCKS, threads=512)
                (pathlib.Path(folder) / "kernel.ptx").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("ours, theirs, count", PAIRS)
def test_not_more_than_nccl(tmp_path, ours, theirs, count):
    mine, nccl, ptx = tmp_path / "mine", tmp_path / "nccl", tmp_path / "ptx"
    for folder in (mine, nccl, ptx):
        folder.mkdir()
    runner = BUILD / "test/nvptx/collectives/CollectiveRunner"
    done = subprocess.run(
        [str(runner), *ours.split(), str(RANKS), str(BLOCKS)], env=environment(mine), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    own = totals(mine, done.stdout)
    done = subprocess.run(
        [sys.executable, __file__, str(ptx), theirs, str(count)], env=environment(nccl), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    other = totals(nccl, (ptx / "kernel.ptx").read_text(encoding="utf-8"))
    print(f"{ours}: {own[0]} bytes, {own[1]} synchronising; {theirs}: {other[0]} bytes, {other[1]} synchronising")
    assert own[0] <= other[0], f"{own[0]} bytes moved, NCCL's {theirs} moves {other[0]}"
    assert own[1] <= other[1], f"{own[1]} synchronising instructions, NCCL's {theirs} has {other[1]}"


if __name__ == "__main__":
    run_nccl(sys.argv[1], sys.argv[2], int(sys.argv[3]))
