"""Locates the compiled files: in the wheel, or in the build tree that TILEWRIGHT_LIBRARY names.

Both have the same layout: bin/tilewright, lib/libtilewright_pjrt.so, lib/vgpu/libcuda.so.1.
"""

import os
import pathlib


def folder() -> pathlib.Path:
    given = os.environ.get("TILEWRIGHT_LIBRARY")
    return pathlib.Path(given).resolve().parents[1] if given else pathlib.Path(__file__).parent / "native"


def library() -> pathlib.Path:
    """The plugin's library: TILEWRIGHT_LIBRARY if set, else the one in the wheel."""
    given = os.environ.get("TILEWRIGHT_LIBRARY")
    return _existing(pathlib.Path(given) if given else folder() / "lib/libtilewright_pjrt.so")


def program() -> pathlib.Path:
    """The command line, as a program."""
    return _existing(folder() / "bin/tilewright")


def _existing(path: pathlib.Path) -> pathlib.Path:
    if path.exists():
        return path
    given = os.environ.get("TILEWRIGHT_LIBRARY")
    raise FileNotFoundError(
        f"TILEWRIGHT_LIBRARY is {given}, and {path} does not exist; unset it to use what pip installed"
        if given
        else f"{path} does not exist, so the installation is incomplete: pip install --force-reinstall tilewright"
    )
