"""Block-scaled products by the doubles of cuBLASLt and cuDNN on the virtual GPU: the result is the kernel's up to rounding, and every fault of a library ends in that result or in an error that names it.

The libraries of NVIDIA compute nothing without a GPU. What only they can show: their heuristics, their speed, and which products they refuse.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent
NVFP4, MXFP8_MIXED, MXFP4 = 5, 1, 3  # of block_scaled_cases.PAIRS
CUBLASLT, CUDNN = {}, {"TILEWRIGHT_CUBLASLT_LIBRARY": "/nowhere/libcublasLt.so.13"}


def run(tmp_path, cases, use="on", fault="", **environment):
    """Runs gpu_library_cases.py. Returns the process, and the products that libraries computed."""
    log = tmp_path / "log"
    done = subprocess.run(
        [sys.executable, FOLDER / "gpu_library_cases.py", *map(str, cases)],
        env={
            **os.environ, "TILEWRIGHT_TARGET": "vgpu:sm_100a", "TILEWRIGHT_VGPU_CHECK": "all", "TILEWRIGHT_QUIET": "1", "TILEWRIGHT_GPU_LIBRARIES": use,
            "TILEWRIGHT_VGPU_LIBRARIES_LOG": str(log), "TILEWRIGHT_VGPU_LIBRARIES_FAULT": fault, "PYTHONPATH": str(FOLDER.parents[2] / "python"), **environment,
        },
        capture_output=True, text=True, timeout=600,
    )
    calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return done, [call for call in calls if call["call"] in ("cublasLtMatmul", "cudnnBackendExecute") and call["result"] == 0]


def expect_right(done):
    assert done.returncode == 0 and "products are right" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("library, environment", [("cublasLt", CUBLASLT), ("cudnn", CUDNN)], ids=["cublasLt", "cudnn"])
def test_a_library_computes_the_products(library, environment, tmp_path):
    """Formats of both modes of scales, a batch, a factor, three types of results, in a loop; each product twice: the first run is compared, the second is not."""
    done, products = run(tmp_path, [MXFP8_MIXED, NVFP4], **environment)
    expect_right(done)
    assert {call["library"] for call in products} == {library}
    assert {call["scales"] for call in products} == {"f8E8M0FNU", "f8E4M3FN"}
    assert {call["type"] for call in products} == {"f32", "bf16", "f16"}
    assert {call["hasFactor"] for call in products} == {0, 1}


@pytest.mark.parametrize("use", ["on", "check"])
def test_programs_around_products(use, tmp_path):
    done, products = run(tmp_path, ["programs"], use=use, TILEWRIGHT_VGPU_DEVICES="2")
    expect_right(done)
    assert len(products) > 20 and done.stderr == ""


def test_no_library_is_loaded_by_default(tmp_path):
    done, products = run(tmp_path, ["single"], use="off")
    expect_right(done)
    assert products == [] and done.stderr == ""


# Each of these leaves the product to the program's kernel, or to the other library, and says why.
REFUSALS = {
    "missing": ("", {"TILEWRIGHT_CUBLASLT_LIBRARY": "/nowhere/libcublasLt.so.13", "TILEWRIGHT_CUDNN_LIBRARY": "/nowhere/libcudnn.so.9"}, "cuBLASLt cannot be loaded: /nowhere/libcublasLt.so.13"),
    "another_library": ("", {"TILEWRIGHT_CUBLASLT_LIBRARY": "libm.so.6", "TILEWRIGHT_CUDNN_LIBRARY": "libm.so.6"}, "cuDNN 'libm.so.6' does not export cudnnCreate"),
    "old": ("", {"TILEWRIGHT_VGPU_CUBLASLT_VERSION": "12.6.1", "TILEWRIGHT_VGPU_CUDNN_VERSION": "9.9"}, "cuBLASLt needs version 12.8.0 for block-scaled products, got 12.6.1"),
    "no_global_scale": ("cublasLt:refuse", {"TILEWRIGHT_VGPU_CUDNN_VERSION": "9.12"}, "cuDNN needs version 9.13.0 for a global scale, got 9.12.0"),
    "unknown_version": ("", {"TILEWRIGHT_VGPU_CUBLASLT_VERSION": "14.0", "TILEWRIGHT_VGPU_CUDNN_VERSION": "10.0"}, "cuBLASLt is known up to 13.99.99, got 14.0.0"),
    "no_device": ("create", {}, "cuBLASLt cublasLtCreate failed with 1"),
    "refuses": ("refuse", {}, "cuBLASLt 13.1.0 refuses: cublasLtMatmulAlgoGetHeuristic failed with 15"),
    "finds_nothing": ("nothing", {}, "cuDNN 9.19.0 refuses: its heuristic found no engine"),
    "too_much_workspace": ("workspace bytes=99999999", {}, "needs a workspace of 99999999 bytes, the limit is 33554432"),
    "launch": ("launch", {}, "cuBLASLt 13.1.0 fails: cublasLtMatmul failed with 13"),
    "wrong": ("wrong", {}, "cuBLASLt 13.1.0 computed a wrong result: element [0, 47, 79] is "),
    "unwritten": ("stale", {}, "computed a wrong result: element [0, 47, 79] is NaN"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_library_leaves_the_product_to_the_kernel(name, tmp_path):
    fault, environment, reason = REFUSALS[name]
    done, _ = run(tmp_path, ["single"], fault=fault, **environment)
    expect_right(done)
    assert reason in done.stderr, done.stderr


def test_a_launch_that_fails_later_leaves_the_product_to_the_kernel(tmp_path):
    """The second run of a product, which is not compared."""
    done, products = run(tmp_path, ["single"], fault="cublasLt:launch number=3")
    expect_right(done)
    assert "fails: cublasLtMatmul failed with 13" in done.stderr and len(products) == 2


# Each of these fails with an error that names the library.
FAILURES = {
    "wrong_under_checking": ("check", "wrong", "cuBLASLt 13.1.0 computed a wrong result in 'scaled_matmul"),
    "unwritten_under_checking": ("check", "stale", "is NaN, the program's kernel computes"),
    "behind_the_result": ("on", "overrun", "cuBLASLt 13.1.0 wrote outside of its memory, at byte 0 of the guard behind the result"),
    "before_the_result": ("check", "underrun", "at byte 4080 of the guard before the result"),
    "behind_the_workspace": ("on", "workspace-overrun", "at byte 0 of the guard behind the workspace"),
    "on_the_device": ("on", "device", "comparing the results of cuBLASLt 13.1.0 and of 'scaled_matmul"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_fault_that_may_have_done_harm_is_an_error(name, tmp_path):
    use, fault, reason = FAILURES[name]
    done, _ = run(tmp_path, ["single"], use=use, fault=fault)
    assert done.returncode != 0 and "E5129" in done.stderr and reason in done.stderr, done.stdout + done.stderr


def test_formats_and_shapes_that_no_library_takes_are_the_kernels(tmp_path):
    done, products = run(tmp_path, [MXFP4, "odd"])
    expect_right(done)
    assert products == []
    for reason in (
        "cuBLASLt has no product of f4E2M1FN and f4E2M1FN with scales of f8E8M0FNU for 32 elements",
        "cuDNN needs rows of the result of a multiple of 16 bytes, got 148",
        "cuBLASLt needs scales for 4 blocks in a row, got room for 16 in more than one group of 128 rows",
    ):
        assert reason in done.stderr, done.stderr


def test_another_value_of_the_variable_is_an_error(tmp_path):
    done, _ = run(tmp_path, ["single"], use="maybe")
    assert done.returncode != 0 and "TILEWRIGHT_GPU_LIBRARIES is 'maybe', expected off, on or check" in done.stderr
