"""The objects of IREE's compiler, as test_amdgcn.py does it with others."""

from test_amdgcn import CHIPS, expect_equal, run

IREE = """
func.func @matmul(%a: tensor<512x1024xbf16>, %b: tensor<1024x512xbf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = linalg.matmul ins(%a, %b : tensor<512x1024xbf16>, tensor<1024x512xbf16>)
                     outs(%init : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %c : tensor<512x512xf32>
}
"""


def test_iree_objects_are_printed_like_llvm(tmp_path, pytestconfig):
    compiler = pytestconfig.getoption("--iree")
    (tmp_path / "matmul.mlir").write_text(IREE)
    paths = []
    for chip in CHIPS:
        folder = tmp_path / chip
        flags = ["--iree-hal-target-backends=rocm", f"--iree-rocm-target={chip}"]
        flags += [f"--iree-hal-dump-executable-binaries-to={folder}"]
        run(compiler, *flags, tmp_path / "matmul.mlir", "-o", "/dev/null")
        paths += sorted(folder.glob("*.hsaco"))
    assert len(paths) >= 2
    print(f"IREE: {len(paths)} objects, {expect_equal(paths)} instructions")
