"""Loads the plugin that was just built, from the source tree, as `tilewright` beside JAX's own `cpu`."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "tilewright/plugin/libtilewright_pjrt.so"

# Before jax is imported. Tests that need other names start a process of their own.
os.environ["JAX_PLATFORMS"] = "tilewright,cpu"
os.environ["TILEWRIGHT_LIBRARY"] = str(LIBRARY)
os.environ.setdefault("TILEWRIGHT_RUNTIME_DEVICES", "2")
sys.path.insert(0, str(ROOT / "python"))

import pytest  # noqa: E402
from tilewright import jax_plugin  # noqa: E402

jax_plugin.initialize()


@pytest.fixture
def script(tmp_path):
    """Runs lines of Python in a process of their own, with the plugin and the given variables."""
    import subprocess

    def run(text, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
        environment |= {"TILEWRIGHT_LIBRARY": str(LIBRARY), "PYTHONPATH": str(ROOT / "python")} | variables
        text = "from tilewright import jax_plugin; jax_plugin.initialize()\n" + text
        done = subprocess.run(
            [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=300, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
