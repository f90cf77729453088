"""Our kernels that communicate through NVSHMEM, on 4 virtual GPUs: right, and without a report of any check.

The functions come from the device bitcode of an installed NVSHMEM (host.find_library); nothing of it is kept here. Each run is
a process of its own, because the driver reads its settings once.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test/vgpu/nccl"))

import host  # noqa: E402
import symmetric  # noqa: E402

BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")).resolve()
LIBRARY = host.find_library()
RANKS, POINTS, ROWS, DEPTH, COLUMNS = 4, 2, 32, 64, 32
SHARD = POINTS * ROWS
TIMES = 2  # launches in a row without a host in between: flags and signals go on counting
# Places on the heap.
SIGNALS, FLAGS, RIGHT, LEFT, SENT, ARRIVED, OUT = (mib * symmetric.MiB for mib in (0, 1, 2, 3, 5, 7, 10))

pytestmark = pytest.mark.skipif(
    LIBRARY is None, reason="NVSHMEM is absent: pip install --no-deps nvidia-nvshmem-cu12 (280 MB)"
)


def put(random):
    """Offsets of the parameters, values by rank and offset, results by rank."""
    values = [random.integers(-9, 9, 4096).astype(np.float32) for _ in range(RANKS)]
    return [LEFT, ARRIVED, OUT, FLAGS, SIGNALS], [{LEFT: one} for one in values], values[-1:] + values[:-1]


def all_gather_product(random):
    # Small integers: all sums are exact.
    left = [random.integers(-2, 3, (SHARD, DEPTH)).astype(np.float16) for _ in range(RANKS)]
    right = [random.integers(-2, 3, (DEPTH, COLUMNS)).astype(np.float16) for _ in range(RANKS)]
    gathered = np.concatenate(left).astype(np.float32)
    return (
        [LEFT, RIGHT, OUT, ARRIVED, FLAGS, SIGNALS],
        [{LEFT: a, RIGHT: b} for a, b in zip(left, right, strict=True)],
        [gathered @ one.astype(np.float32) for one in right],
    )


def product_reduce_scatter(random):
    left = [random.integers(-2, 3, (RANKS * SHARD, DEPTH)).astype(np.float16) for _ in range(RANKS)]
    right = [random.integers(-2, 3, (DEPTH, COLUMNS)).astype(np.float16) for _ in range(RANKS)]
    total = sum(a.astype(np.float32) @ b.astype(np.float32) for a, b in zip(left, right, strict=True))
    return (
        [LEFT, RIGHT, OUT, SENT, ARRIVED, FLAGS, SIGNALS],
        [{LEFT: a, RIGHT: b} for a, b in zip(left, right, strict=True)],
        np.split(total, RANKS),
    )


KERNELS = {"put": put, "all_gather_product": all_gather_product, "product_reduce_scatter": product_reduce_scatter}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The PTX of each kernel, in a file."""
    folder = tmp_path_factory.mktemp("nvshmem")
    for name in KERNELS:
        what = [str(ROOT / "test/nvptx/nvshmem/put.mlir")]
        if name != "put":
            what = [name, *map(str, (RANKS, POINTS, ROWS, DEPTH, COLUMNS))]
        compiler = BUILD / "test/nvptx/nvshmem/ShmemCompiler"
        text = subprocess.run([compiler, str(LIBRARY), *what], check=True, capture_output=True, text=True).stdout
        (folder / f"{name}.ptx").write_text(text)
    return folder


def run(name, file, order, report):
    environment = {
        **os.environ,
        "TILEWRIGHT_VGPU_CHECK": "all",
        "TILEWRIGHT_VGPU_ORDER": order,
        "TILEWRIGHT_VGPU_TIMEOUT": "300",
        "TILEWRIGHT_VGPU_REPORT": str(report),
        "TILEWRIGHT_BUILD_DIR": str(BUILD),
    }
    return subprocess.run(
        [sys.executable, __file__, name, str(file)], env=environment, capture_output=True, text=True, check=False
    )


def run_team(name, file):
    """In the process of a team: prints how many elements are wrong."""
    os.environ["TILEWRIGHT_VGPU_CHIP"] = ",".join(["sm_90a"] * RANKS)
    cuda = symmetric.Cuda(BUILD / "lib/vgpu/libcuda.so.1")
    cuda.cuInit(0)
    text = pathlib.Path(file).read_text(encoding="utf-8")
    head, text = text.split("\n", 1)
    symbol, blocks, threads, shared = re.fullmatch(r"// (\w+) (\d+) (\d+) (\d+)", head).groups()
    team = host.Team(cuda, RANKS)
    team.load(text, symbol)
    offsets, values, expected = KERNELS[name](np.random.default_rng(7))
    for device, places in zip(team.devices, values, strict=True):
        device.use()
        for offset, value in places.items():
            device.write(team.address(device.rank) + offset, value.tobytes())
    for _ in range(TIMES):
        team.launch(symbol, int(blocks), int(threads), int(shared), offsets)
    team.synchronize()
    wrong = 0
    for device, want in zip(team.devices, expected, strict=True):
        device.use()
        got = device.read(team.address(device.rank) + OUT, want.size, np.float32).reshape(want.shape)
        wrong += int(np.count_nonzero(got != want))
    print(json.dumps({"wrong": wrong}))


@pytest.mark.parametrize("order", ["eager", "latest", "seed:7"])
@pytest.mark.parametrize("name", KERNELS)
def test_right_and_without_a_report(name, order, compiled, tmp_path):
    done = run(name, compiled / f"{name}.ptx", order, tmp_path / "report.txt")
    assert done.returncode == 0, done.stderr[-4000:]
    assert not (tmp_path / "report.txt").exists(), (tmp_path / "report.txt").read_text()[:4000]
    assert json.loads(done.stdout) == {"wrong": 0}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_put_with_a_signal(name, compiled):
    """The transfer is NVSHMEM's: its code for other nodes is in the module, and its wait."""
    text = (compiled / f"{name}.ptx").read_text()
    assert "nvshmemi_transfer_put_signal" in text
    assert "nvshmemi_transfer_syncapi_update_mem" in text or "ld.volatile.global.b64" in text


# Each line of a kernel that orders ranks, and what replaces it.
MUTANTS = {
    "our fence after a wait": (r"fence\.acq_rel\.sys;", ""),
    "the fence before a signal": (r"membar\.sys;", ""),
    "the scope of the fence before a signal": (r"membar\.sys;", "membar.gl;"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_weaker_kernel_is_found(mutant, compiled, tmp_path):
    pattern, now = MUTANTS[mutant]
    text, count = re.subn(pattern, now, (compiled / "put.ptx").read_text())
    assert count > 0
    file, report = tmp_path / "mutant.ptx", tmp_path / "report.txt"
    file.write_text(text)
    run("put", file, "eager", report)
    assert "race" in report.read_text()


if __name__ == "__main__":
    run_team(*sys.argv[1:])
