"""Loads the plugin that was just built, from the source tree, as `tilewright` beside JAX's own `cpu`."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "lib/libtilewright_pjrt.so"

# Before jax is imported. Tests that need other platforms start a process of their own.
os.environ["JAX_PLATFORMS"] = "tilewright,cpu"
os.environ["TILEWRIGHT_LIBRARY"] = str(LIBRARY)
os.environ.setdefault("TILEWRIGHT_RUNTIME_DEVICES", "2")
os.environ.setdefault("TILEWRIGHT_QUIET", "1")
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test/wheel")]

import installation  # noqa: E402
import pytest  # noqa: E402
from tilewright import jax_plugin  # noqa: E402

jax_plugin.initialize()


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=15, help="how many processes test_kills.py ends while they compile")
    parser.addoption("--training-steps", type=int, default=10, help="of the transformer in test_parallel_training.py")


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The Python of a fresh environment into which the wheel was installed as a user would."""
    folder = tmp_path_factory.mktemp("installed")
    return installation.install(folder, installation.wheel_of_build(folder)) / "python"


@pytest.fixture
def script(tmp_path):
    """Runs lines of Python in a process of their own, with the plugin and the given variables."""
    def run(text, timeout=300, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
        environment |= {"TILEWRIGHT_LIBRARY": str(LIBRARY), "PYTHONPATH": str(ROOT / "python")} | variables
        text = "from tilewright import jax_plugin; jax_plugin.initialize()\n" + text
        done = subprocess.run(
            [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=timeout, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
