"""The objects of IREE's compiler: a matrix product in three shapes, disassembled like LLVM does and executed."""

import re

import ml_dtypes
import numpy as np
import pytest
from test_amdgcn import CHIPS, expect_equal, llvm, run
from test_execute import F32, launch_in_all_orders

IREE = """
func.func @matmul(%a: tensor<MxKxbf16>, %b: tensor<KxNxbf16>) -> tensor<MxNxf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<MxNxf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<MxNxf32>) -> tensor<MxNxf32>
  %c = linalg.matmul ins(%a, %b : tensor<MxKxbf16>, tensor<KxNxbf16>)
                     outs(%init : tensor<MxNxf32>) -> tensor<MxNxf32>
  return %c : tensor<MxNxf32>
}
"""


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("m, k, n, workgroups", [(512, 1024, 512, 32), (256, 128, 384, 12), (100, 130, 72, 6)])
def test_iree_objects(chip, m, k, n, workgroups, tmp_path, pytestconfig):
    """The number of workgroups is the smallest with which the kernel computes all of C; IREE's host code knows it."""
    sizes = {"M": m, "K": k, "N": n}
    text = re.sub("[MKN](?=x)", lambda letter: str(sizes[letter[0]]), IREE)
    (tmp_path / "matmul.mlir").write_text(text)
    flags = ["--iree-hal-target-backends=rocm", f"--iree-rocm-target={chip}"]
    flags += [f"--iree-hal-dump-executable-binaries-to={tmp_path}"]
    run(pytestconfig.getoption("--iree"), *flags, tmp_path / "matmul.mlir", "-o", "/dev/null")
    (path,) = tmp_path.glob("*.hsaco")
    print(f"IREE for {chip}: {expect_equal([path])} instructions")

    notes = run(llvm("llvm-readelf"), "--notes", path).stdout
    kernel, block = re.search(r"\.name: +(\w+)", notes)[1], int(re.search(r"max_flat_workgroup_size: (\d+)", notes)[1])
    generator = np.random.default_rng(m)
    a, b = (generator.standard_normal(shape).astype(F32).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n)))
    buffers = [a.view(np.uint16), b.view(np.uint16), np.zeros((m, n), F32)]
    *_, c = launch_in_all_orders(tmp_path, path, kernel, [workgroups], [block], *buffers)
    left, right = a.astype(np.float64), b.astype(np.float64)
    bound = k * 2.0**-23 * (np.abs(left) @ np.abs(right))
    assert (np.abs(c - left @ right) <= bound).all()
