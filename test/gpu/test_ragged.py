"""ragged_dot, compiled for the CPU and for the virtual GPU with every check on, against jaxlib's CPU.

    pytest test/gpu/test_ragged.py --only rows

The programs are lowered for `cuda`, where ragged_dot is one op with groups (ragged.py). On its CPU jaxlib computes it by other
ops. The tolerance follows from the sum of the absolute products.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "jax"))
import artifacts  # noqa: E402
import evaluator  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
import ragged  # noqa: E402
import test_cases  # noqa: E402
from jax import export, lax  # noqa: E402
from jax import numpy as jnp  # noqa: E402


def exported(function, *arguments):
    with jax.enable_x64(True):
        return export.export(jax.jit(function, keep_unused=True), platforms=["cuda"])(*arguments).mlir_module_serialized


@pytest.fixture(scope="module")
def made(pytestconfig):
    """The programs, as artifacts with jaxlib's results."""
    only, found = pytestconfig.getoption("--only"), []
    for case in ragged.all_cases():
        if only not in case.name:
            continue
        with jax.enable_x64(True):
            expected = [np.asarray(jax.jit(case.function)(*case.arguments))]
        program = exported(case.function, *case.arguments)
        assert b"chlo.ragged_dot" in program, f"{case.name} is not lowered to the op"
        found.append((case, artifacts.Case(case.name, case.op_class, 1, program, list(case.arguments), expected)))
    return found


def evaluate(made, folder, *options):
    return evaluator.evaluate([artifact for _, artifact in made], folder, *options)


BACKENDS = {"cpu": "--on=cpu", "sm_80": "--target=vgpu:sm_80", "sm_90a": "--target=vgpu:sm_90a"}


@pytest.mark.parametrize("backend", ["evaluator", *BACKENDS])
def test_groups(made, backend, tmp_path, monkeypatch):
    report = tmp_path / "report.txt"
    for name, value in {"CHECK": "all", "ORDER": "latest", "THREADS": "1", "REPORT": str(report)}.items():
        monkeypatch.setenv(f"TILEWRIGHT_VGPU_{name}", value)
    actual = evaluate(made, tmp_path, *([] if backend == "evaluator" else [BACKENDS[backend]]))
    wrong = [f"{case.name}: {words}" for case, artifact in made
             if (words := test_cases.difference(case, actual[case.name], artifact.expected))]  # fmt: skip
    assert made and not wrong, f"{len(wrong)} of {len(made)} on {backend}\n\n" + "\n\n".join(wrong[:20])
    assert not report.exists() or "no findings" in report.read_text(), report.read_text()[:3000]


@pytest.mark.parametrize("backend", BACKENDS)
def test_groups_do_not_see_each_other(backend, tmp_path):
    """Infinities and NaNs of one group, and of rows in no group, stay where they are."""
    x, w, y = np.ones((9, 4), np.float32), np.ones((3, 4, 5), np.float32), np.ones((9, 5), np.float32)
    sizes = np.array([3, 2, 2], np.int32)
    w[0], x[4], x[7:] = np.nan, np.inf, np.nan
    y[4], y[8] = np.inf, np.nan

    def function(x, w, y, sizes):
        return lax.ragged_dot(x, w, sizes), lax.ragged_dot_general(x, y, sizes, ragged.CONTRACTION)

    rows = np.full((9, 5), 4, np.float32)
    rows[:3], rows[4], rows[7:] = np.nan, np.inf, 0
    groups = np.stack([np.full((4, 5), value, np.float32) for value in (3, np.inf, 2)])
    case = artifacts.Case("apart", "exact", 1, exported(function, x, w, y, sizes), [x, w, y, sizes], [rows, groups])
    actual = evaluator.evaluate([case], tmp_path, BACKENDS[backend])["apart"]
    assert not isinstance(actual, str), actual
    np.testing.assert_array_equal(actual[0], rows)
    np.testing.assert_array_equal(actual[1], groups)


def test_work_does_not_grow_with_the_groups(tmp_path):
    """The products of 16 groups of 128 rows are those of the rows and of one more tile for each group, not 16 times the rows."""
    m, k, n, groups = 2048, 64, 64, 16
    x, w = (jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((m, k), (groups, k, n)))
    (tmp_path / "program.mlirbc").write_bytes(exported(lax.ragged_dot, x, w, jax.ShapeDtypeStruct((groups,), jnp.int32)))
    ended = subprocess.run([evaluator.TOOL, "compile", tmp_path / "program.mlirbc", "--target=sm_90a", f"--output={tmp_path}/p.twx",
                            f"--compile.dump-dir={tmp_path}/dump"], capture_output=True, text=True)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    simplified = next((tmp_path / "dump").rglob("*-simplify.mlir")).read_text()
    products = re.findall(r"stablehlo\.dot_general .*-> tensor<(\d+)x(\d+)x(\d+)xbf16>", simplified)
    assert len(products) == 1 and simplified.count("stablehlo.dot_general") == 1, simplified
    tiles, rows, columns = map(int, products[0])
    assert columns == n and tiles * rows <= m + groups * rows
