"""The wheel of the build under test, installed into a fresh environment as a user would."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev"))


def wheel_of_build(folder: pathlib.Path) -> pathlib.Path:
    """The wheel that CTest has made for all tests, or one made in `folder` where pytest runs by itself."""
    return next(pathlib.Path(os.environ.get("TILEWRIGHT_TEST_WHEEL", folder)).glob("*.whl"), None) or build_wheel(folder)


def build_wheel(folder: pathlib.Path, source: pathlib.Path = ROOT) -> pathlib.Path:
    """Builds the wheel with the standard tools and a release's install rules from the built tree: nothing is compiled."""
    command = [
        sys.executable, "-m", "pip", "wheel", source, "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
        "--disable-pip-version-check", f"--wheel-dir={folder}", f"-Cbuild-dir={folder}/cmake",
        f"-Ccmake.define.TILEWRIGHT_INSTALL_FROM={BUILD}",
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = pathlib.Path(folder).glob("*.whl")
    return wheel


def install(folder: pathlib.Path, wheel: pathlib.Path) -> pathlib.Path:
    """The bin folder of a fresh environment with the wheel. JAX and Triton are those of the tests: no network is needed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "home"], check=True, timeout=300)
    python = folder / "home/bin/python"
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True
    ).stdout.strip()
    theirs = pathlib.Path(importlib.util.find_spec("jax").origin).parents[1]
    (pathlib.Path(packages) / "jax.pth").write_text(f"{theirs}\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", wheel],
        check=True, timeout=300,
    )  # fmt: skip
    return folder / "home/bin"


def environment(bin: pathlib.Path) -> dict[str, str]:
    """A user's variables: the fresh environment is active, and none of the tests' variables is set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TILEWRIGHT_", "PYTHON"))}
    return kept | {"PATH": f"{bin}:{kept['PATH']}", "VIRTUAL_ENV": str(bin.parent)}


if __name__ == "__main__":
    made = pathlib.Path(sys.argv[1])
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    build_wheel(made)
