"""Loads the plugin that was just built, from the source tree, as `tilewright` beside JAX's own `cpu`."""

import os
import pathlib
import subprocess
import sys
import sysconfig

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


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=15, help="how many processes test_kills.py ends while they compile")
    parser.addoption("--training-steps", type=int, default=10, help="of the transformer in test_parallel_training.py")


def build_wheel(folder: pathlib.Path) -> pathlib.Path:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/build-wheel", "--library", LIBRARY, "--output", folder],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return pathlib.Path(done.stdout.strip())


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The Python of a fresh environment into which the wheel was installed as a user would."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = build_wheel(folder)
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "home"], check=True, timeout=300)
    python = folder / "home/bin/python"
    # JAX itself comes from the environment that the tests run in, so that no network is needed.
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (pathlib.Path(packages) / "jax.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True, timeout=300
    )
    return python


@pytest.fixture
def script(tmp_path):
    """Runs lines of Python in a process of their own, with the plugin and the given variables."""
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
