"""`pytest -p tilewright.pytest_plugin`: the plugin that `tilewright vgpu run -- pytest` loads by itself.

For users who preload the virtual driver in another way (LD_LIBRARY_PATH, TILEWRIGHT_VGPU_CHECK).
"""

from tilewright.vgpu.pytest_plugin import pytest_configure, pytest_runtest_call

__all__ = ["pytest_configure", "pytest_runtest_call"]
