"""`tilewright predict`: steps of whole programs on clusters that are part of the program and on files."""

import pathlib
import re
import xml.etree.ElementTree as xml

import pytest
from conftest import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMS = ROOT / "docs/examples/sums-over-a-mesh.mlir"


def product(size, ranks):
    """A product whose contracting dimension is divided over all ranks: each has a part of the sum."""
    part = size // ranks
    groups = [list(range(ranks))]
    return f"""
module attributes {{mhlo.num_partitions = {ranks} : i32}} {{
  func.func @main(%a: tensor<{size}x{part}xbf16>, %b: tensor<{part}x{size}xbf16>) -> tensor<{size}x{size}xf32> {{
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<{size}x{part}xbf16>, tensor<{part}x{size}xbf16>) -> tensor<{size}x{size}xf32>
    %r = "stablehlo.all_reduce"(%p) <{{use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<{groups}> : tensor<1x{ranks}xi64>}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }}) : (tensor<{size}x{size}xf32>) -> tensor<{size}x{size}xf32>
    return %r : tensor<{size}x{size}xf32>
  }}
}}
"""


def seconds(report, row):
    value, unit = re.search(rf"^{row} +([0-9.]+) (us|ms|s)\b", report, re.MULTILINE).groups()
    return float(value) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def test_a_product_takes_what_the_tables_say(tmp_path):
    path = tmp_path / "product.mlir"
    path.write_text(product(4096, 8))
    report = tilewright("predict", path, "--cluster=h100x8")
    # 4096 x 512 by 512 x 4096 in bf16: at least 17 GFLOP at 989 TFLOP/s, at most at a third of that, beside 71 MB of
    # memory traffic; then 64 MiB summed over 8 ranks, measured as 380 us.
    assert 17.2e9 / 989e12 < seconds(report, "compute") < 3 * 17.2e9 / 989e12
    assert seconds(report, "exposed") == pytest.approx(380e-6, rel=0.05)
    # All that grows with the number of chips is communication.
    path.write_text(product(4096, 32))
    wide = tilewright("predict", path, "--cluster=h100x32")
    assert seconds(wide, "exposed") > seconds(report, "exposed")
    assert seconds(wide, "compute") < seconds(report, "compute")


def test_a_program_is_ordered_for_its_cluster_and_an_executable_keeps_its_order(tmp_path):
    compiled = tmp_path / "sums.twx"
    tilewright("compile", SUMS, f"--output={compiled}")
    executable, program = (tilewright("predict", file, "--cluster=h100x4") for file in (compiled, SUMS))
    assert seconds(program, "step") < seconds(executable, "step")
    assert seconds(program, "compute") == pytest.approx(seconds(executable, "compute"), rel=0.05)


def test_the_report_says_where_the_time_goes():
    report = tilewright("predict", SUMS, "--cluster=h100x16384", "--slow=50%")
    assert "4 of 16384 chips 'h100'" in report
    assert "one rank 50 % slower" in report and "one rank dead" in report
    assert re.search(r"^  compute \|#[#.= ]{70,}", report, re.MULTILINE), report
    assert "all_reduce.0" in report
    assert "note      the loop at" in report and "counts once" in report


def test_the_picture_is_an_image_with_names(tmp_path):
    picture = tmp_path / "step.svg"
    tilewright("predict", SUMS, "--cluster=gb200x72", f"--picture={picture}")
    text = picture.read_text()
    assert xml.fromstring(text).tag.endswith("svg")
    assert "all_reduce.0" in text and "communication" in text
    page = tmp_path / "step.html"
    report = tilewright("predict", SUMS, "--cluster=gb200x72", f"--picture={page}")
    assert text.strip() in page.read_text() and report.splitlines()[1] in page.read_text()


def test_a_cluster_is_a_file_that_people_write(tmp_path):
    shown = tilewright("predict", "--show-cluster=h100")
    own = tmp_path / "pod.cluster"
    own.write_text(shown)
    step = seconds(tilewright("predict", SUMS, f"--cluster={own}"), "step")
    assert step == seconds(tilewright("predict", SUMS, "--cluster=h100"), "step")
    own.write_text(shown.replace("launch 2us", "launch 200us"))
    assert seconds(tilewright("predict", SUMS, f"--cluster={own}"), "step") > 2 * step
    own.write_text(shown.replace("launch 2us", "launch 2 us"))
    error = tilewright("predict", SUMS, f"--cluster={own}", code=2)
    assert "E0030" in error and "pod.cluster:8: 'launch' takes one value" in error and "got 2 words" in error


def test_misuse_is_refused_with_what_to_do():
    assert "did you mean 'h100'" in tilewright("predict", SUMS, "--cluster=h10x8", code=2)
    assert "such as h100x64 or a file" in tilewright("predict", SUMS, code=2)
    few = tilewright("predict", SUMS, "--cluster=h100x2", code=2)
    assert "E0031" in few and "the program is for 4 ranks, but cluster 'h100' has 2" in few
    assert "such as 10%, got 'much'" in tilewright("predict", SUMS, "--cluster=h100x4", "--slow=much", code=2)
    assert "at least 1 chip, got 0 in 'h100x0'" in tilewright("predict", SUMS, "--cluster=h100x0", code=2)
    beyond = tilewright("predict", SUMS, "--cluster=h100x99999999999999999999", code=2)  # more than an int64 holds
    assert "no cluster 'h100x99999999999999999999'" in beyond
    assert "joins 131072" in tilewright("predict", SUMS, "--cluster=h100x1000000", code=2)
