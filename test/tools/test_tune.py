"""`tilewright tune` and `tilewright explain tuning`: products are measured once, and later runs use the times."""

import pathlib
import re
import subprocess

import numpy as np
import pytest
from conftest import TOOL, tilewright

PRODUCTS = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/two-products.mlir"


@pytest.fixture
def tuning(tmp_path):
    """A tuning file with the products of the example."""
    path = tmp_path / "products.tuning"
    out = tilewright("tune", PRODUCTS, f"--output={path}", "--threads=1")
    assert out.startswith("2 products measured"), out
    return path


def records(path):
    return path.read_text().splitlines()[1:]


def test_products_are_measured_once(tuning):
    before = records(tuning)
    assert len(before) == 2
    assert tilewright("tune", PRODUCTS, f"--output={tuning}", "--threads=1").startswith("2 products measured")
    assert records(tuning) == before
    # Another number of threads is another problem.
    tilewright("tune", PRODUCTS, f"--output={tuning}", "--threads=2")
    assert len(records(tuning)) == 4


def test_explain_lists_every_candidate_and_the_absent(tuning):
    out = tilewright("explain", "tuning", tuning)
    for shape in "512x512x512", "1x512x512":
        paragraph = re.search(rf"dot f32 f32 f32 {shape} .*\n((?:    .*\n|  \* .*\n)+)", out)
        assert paragraph, out
        lines = paragraph[1].splitlines()
        assert sum(line.startswith("  * ") for line in lines) == 1, out
        assert len(lines) >= 3 and "onednn" in paragraph[1], out
        assert all(" ms" in line or "onednn" in line for line in lines), out


def make_slow(tuning, problem, slow):
    """Rewrites the file as if the candidates that match `slow` had taken a second; keeps the checksums of other lines."""
    lines = tuning.read_text().splitlines()
    changed = [re.sub(rf"\tC[^|]*(\|[^|]*\|[^\t]*{slow})", r"\tC1\1", line) if problem in line else line for line in lines]
    assert changed != lines
    tuning.write_text("\n".join(changed) + "\n")


def test_changed_lines_are_skipped(tuning):
    make_slow(tuning, "1x512x512", "vector")
    out = tilewright("explain", "tuning", tuning)
    assert "1 product, " in out and "1 damaged line skipped" in out, out


def test_runs_with_measurements_are_right(tuning, tmp_path):
    random = np.random.default_rng(1)
    inputs = []
    for name, shape in ("a", (512, 512)), ("b", (512, 512)), ("row", (1, 512)):
        np.save(tmp_path / f"{name}.npy", random.standard_normal(shape).astype(np.float32))
        inputs.append(f"--input={tmp_path / name}.npy")

    def run(name, *options):
        tilewright("run", PRODUCTS, "--on=cpu", *inputs, f"--output={tmp_path / name}", *options)
        return [np.load(tmp_path / f"{name}{i}.npy") for i in range(2)]

    tilewright("tune", PRODUCTS, f"--output={tuning}")  # with the threads that `run` has
    plain = run("plain")
    tuned = run("tuned", f"--runtime.tuning-file={tuning}")
    same = run("same", f"--runtime.tuning-file={tuning}", "--runtime.deterministic=true")
    for i in range(2):
        np.testing.assert_allclose(tuned[i], plain[i], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(same[i], plain[i])


def test_wrong_uses_are_refused(tmp_path):
    assert "name the tuning file" in tilewright("tune", PRODUCTS, code=2)
    thesis = tmp_path / "thesis"
    thesis.write_text("my thesis\n")
    assert "is not a tuning file" in tilewright("tune", PRODUCTS, f"--output={thesis}", code=2)
    assert "is not a tuning file" in tilewright("explain", "tuning", thesis, code=2)
    assert thesis.read_text() == "my thesis\n"
    out = tilewright("tune", PRODUCTS, f"--output={tmp_path}/t", "--input=1xf32=1", code=2)
    assert "takes 3 inputs, got 1" in out
    # A program that uses such a file runs without it, and says so.
    inputs = ["--input=512x512xf32=1", "--input=512x512xf32=1", "--input=1x512xf32=1"]
    done = subprocess.run([TOOL, "run", PRODUCTS, "--on=cpu", *inputs, f"--runtime.tuning-file={thesis}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "is not a tuning file" in done.stderr, done.stderr
