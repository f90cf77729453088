"""NCCL's 35 symmetric-memory kernels on several virtual GPUs: right, and without a report of any check.

NVIDIA ships them as PTX inside of libnccl.so.2; nothing of it is kept here. Each team of devices is a process of its own,
because the driver reads its settings once. Skipped where NCCL 2.28 or cuobjdump is absent.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import symmetric

BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev"))
LIBRARY = pathlib.Path("/usr/local/cuda/lib/libnccl.so.2")
KERNELS = 35
# One kernel of each algorithm, each type at least once.
SAMPLE = [
    "AllGather_LL", "AllGather_LLMC", "AllGather_ST", "AllGather_STMC",
    "AllReduce_AGxLL_R_sum_f8e4m3", "AllReduce_AGxLLMC_R_sum_bf16", "AllReduce_RSxLD_AGxST_sum_f32",
    "AllReduce_RSxLDMC_AGxSTMC_sum_f16", "ReduceScatter_LL_sum_f8e5m2", "ReduceScatter_LD_sum_bf16",
    "ReduceScatter_LDMC_sum_f32",
]  # fmt: skip


def find_cuobjdump():
    """NVIDIA's tool, which the triton wheel has, too."""
    import triton

    path = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    return path if path.exists() else None


def version_of(library):
    found = re.search(rb"NCCL version (\d+)\.(\d+)\.", library.read_bytes()) if library.exists() else None
    return tuple(int(part) for part in found.groups()) if found else None


def is_known_defect(kernel, count):
    """Until NCCL 2.30.3, a pack of 8 bytes is loaded wrongly if it begins between two words of 4 bytes: the shift of
    its last word takes the bytes behind it from past the end of an array. ReduceScatter_LL loads the part of a peer at
    `peer * count` elements, so narrow types and odd counts meet it; its other kernels do not load so."""
    width = np.dtype(kernel.type).itemsize
    return kernel.name.startswith("ReduceScatter_LL_") and count * width % 4 != 0


def run_team(ranks, names, counts, folder):
    """In the process of a team: prints one line of JSON for each kernel and count."""
    os.environ["TILEWRIGHT_VGPU_CHIP"] = ",".join(["sm_90a"] * ranks)
    cuda = symmetric.Cuda((BUILD / "lib/vgpu/libcuda.so.1").resolve())
    cuda.cuInit(0)
    modules = symmetric.extract(LIBRARY, folder, find_cuobjdump())
    kernels = {one.name: one for text in modules for one in map(symmetric.Kernel, symmetric.entries(text))}
    assert len(kernels) == KERNELS, sorted(kernels)
    team = symmetric.Team(cuda, ranks)
    for device in team.devices:
        device.load(modules)
    for name in names or kernels:
        for count in counts:
            outputs, expected = team.run(kernels[name], count, blocks=2, threads=512)
            wrong = sum(
                int(np.count_nonzero(got.astype(np.float64) != want.astype(np.float64)))
                for got, want in zip(outputs, expected, strict=True)
            )
            known = is_known_defect(kernels[name], count)
            print(json.dumps({"kernel": name, "count": count, "wrong": wrong, "known": known}), flush=True)


def check_team(ranks, names, order, counts, folder):
    report = folder / "report.txt"
    environment = dict(
        os.environ,
        TILEWRIGHT_VGPU_CHECK="all",
        TILEWRIGHT_VGPU_ORDER=order,
        TILEWRIGHT_VGPU_REPORT=str(report),
        TILEWRIGHT_VGPU_TIMEOUT="300",
    )
    command = [sys.executable, __file__, str(ranks), str(folder), "--counts", *map(str, counts), "--kernels", *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == (len(names) or KERNELS) * len(counts)
    for row in rows:
        # The defect of the library must show: it is what these kernels compute.
        assert (row["wrong"] != 0) == row["known"], row
    assert not report.exists(), report.read_text()[:3000]


pytestmark = [
    pytest.mark.skipif(version_of(LIBRARY) != (2, 28), reason="NCCL 2.28, whose structs this test fills, is not here"),
    pytest.mark.skipif(not find_cuobjdump(), reason="the python of the tests has no cuobjdump"),
]


def test_sample(tmp_path):
    check_team(2, SAMPLE, "eager", [777], tmp_path)


@pytest.mark.parametrize("order", ["eager", "latest", "seed:7"])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_all(tmp_path, ranks, order):
    check_team(ranks, [], order, [1024, 777, 5000], tmp_path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("ranks", type=int)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--counts", type=int, nargs="+")
    parser.add_argument("--kernels", nargs="*", default=[])
    given = parser.parse_args()
    run_team(given.ranks, given.kernels, given.counts, given.folder)
