"""Compile time grows linearly with the program and not quadratically: bench/compile_scaling.py, at sizes that take seconds."""

import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from bench import compile_scaling, plot  # noqa: E402

TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin" / "tilewright"


def test_eight_times_the_program_is_not_sixteen_times_the_work(tmp_path):
    rows = []
    for wanted in (1000, 8000):
        text, ops = compile_scaling.program(wanted)
        assert abs(ops - wanted) < compile_scaling.LAYER_OPS
        artifact = tmp_path / "program.mlirbc"
        compile_scaling.write_artifact(text, artifact)
        rows.append(compile_scaling.measure_tilewright(str(TOOL), artifact, tmp_path, timeout=250))
    small, large = rows
    assert set(small["stages"]) == {"distribute", "simplify", "communicate", "fuse", "tile", "lower", "schedule", "code"}
    assert large["cpu"] < 16 * small["cpu"], rows
    assert large["MiB"] < 8 * small["MiB"], rows


def test_programs_mean_what_they_should(tmp_path):
    """The layer is a valid program: no NaN, and the same result evaluated and compiled."""
    (tmp_path / "p.mlir").write_text(compile_scaling.program(60)[0])
    inputs = ["--input=32x64xf32=0.5"] + ["--input=64x64xf32=0.01", "--input=64xf32=0.1"] * compile_scaling.WEIGHTS
    outputs = []
    for on in ("evaluator", "cpu"):
        done = subprocess.run(
            [TOOL, "run", tmp_path / "p.mlir", f"--on={on}", *inputs], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        outputs.append([float(word) for word in done.stdout.split("> ")[1].replace("[", " ").replace("]", " ").replace(",", " ").split()[:64] if word != "…"])
    assert len(outputs[0]) == 64
    assert all(abs(a - b) < 1e-4 for a, b in zip(*outputs))


def test_a_plot_has_a_point_for_each_figure():
    picture = plot.log_log([("seconds", {"a": [(1000, 0.5), (10000, 7)], "b": [(1000, 2)]})], "ops")
    circles = xml.fromstring(picture).findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 3
