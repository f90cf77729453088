"""Libraries of the JAX ecosystem give the same results with the plugin as with jaxlib's CPU backend."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev"))

# These run in CI. The others take longer, or need the packages of requirements.txt beside this file.
LIGHT = ["equinox", "keras", "chex"]
HEAVY = ["optax", "haiku", "jraph", "flax_nnx", "flax_linen", "penzai", "jaxopt", "optimistix", "lineax", "diffrax", "jax_md", "brax", "e3nn", "ott",
         "tinygp", "numpyro", "blackjax", "distrax", "orbax"]  # fmt: skip

# jaxlib for an older CPU: other vectors and no fma, so other roundings. If its results differ from jaxlib's own by more
# than 1e-5, the workload amplifies rounding, and ours may differ by twice as much.
OTHER_ROUNDING = {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"}


def pytest_generate_tests(metafunc):
    heavy = metafunc.config.getoption("--heavy")
    metafunc.parametrize("name", HEAVY if heavy else LIGHT)


@pytest.fixture(scope="session")
def python(request):
    """A virtual environment with the libraries. The one for the heavy ones takes minutes to make, once."""
    if not request.config.getoption("--heavy"):
        return sys.executable
    made = subprocess.run([ROOT / "tools/setup", "--libraries"], capture_output=True, text=True, timeout=1800)
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()[-1]


def run(python, name, backend, folder, **variables):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_", "XLA_"))}
    environment |= {"JAX_PLATFORMS": backend} | variables
    if backend == "tilewright":
        environment["TILEWRIGHT_LIBRARY"] = str(BUILD / "lib/libtilewright_pjrt.so")
        environment["PYTHONPATH"] = str(ROOT / "python")
    target = folder / f"{backend}.npz"
    program = "from tilewright import jax_plugin; jax_plugin.initialize(); " if backend == "tilewright" else ""
    program += f"import runpy, sys; sys.argv = ['', {name!r}, {str(target)!r}]; runpy.run_path({str(HERE / 'run_workload.py')!r})"
    ended = subprocess.run([python, "-c", program], env=environment, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stderr[-4000:]
    used = next(line for line in ended.stderr.splitlines() if line.startswith("backend:"))
    assert ("tilewright" in used) == (backend == "tilewright"), used
    return dict(np.load(target))


def test_library_agrees_with_jaxlib(name, python, tmp_path):
    theirs, ours = run(python, name, "cpu", tmp_path), run(python, name, "tilewright", tmp_path)
    assert ours.keys() == theirs.keys() and ours
    apart, bounds, scales = {}, {}, {}
    for key, value in theirs.items():
        assert value.shape == ours[key].shape and value.dtype == ours[key].dtype, key
        assert np.isfinite(value).all() and np.isfinite(ours[key]).all(), key
        if key.endswith("|error"):
            continue
        difference = np.abs(ours[key].astype(np.float64) - value)
        if key.endswith("|estimate"):
            # Two independent estimates of the same quantity differ by more than 5 standard errors once in a million.
            errors = np.hypot(theirs[key.replace("estimate", "error")], ours[key.replace("estimate", "error")])
            apart[key], bounds[key] = float(np.max(difference / errors)), 5
        else:
            scales[key] = max(np.max(np.abs(value)), 1e-30)
            apart[key] = float(np.max(difference) / scales[key])
            bounds[key] = 1e-5
    if any(apart[key] > bounds[key] for key in scales):
        # Run this only now: most workloads do not need it, and it takes as long as another run.
        rounded = run(python, name, "cpu", tmp_path, **OTHER_ROUNDING)
        for key, scale in scales.items():
            bounds[key] = max(1e-5, 2 * float(np.max(np.abs(rounded[key].astype(np.float64) - theirs[key])) / scale))
    print(name, {key: (apart[key], bounds[key]) for key in apart})
    wrong = {key: (apart[key], bounds[key]) for key in apart if apart[key] > bounds[key]}
    assert not wrong, f"(difference, bound): {wrong}"
