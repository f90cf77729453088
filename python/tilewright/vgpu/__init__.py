"""Python programs on the virtual GPU: torch tensors on `cuda`, Triton's benchmarks, pytest.

`tilewright vgpu run -- PROGRAM` loads this package into every Python it starts (inject/sitecustomize.py). Nothing
happens until the program imports torch, Triton or pytest.
"""


def start():
    """Installs the import hooks. Called once in each process."""
    from . import hooks

    hooks.after_import("torch", "torch_device", "install")
    hooks.after_import("triton.testing", "benchmarks", "install")
    hooks.after_import("_pytest.config", "pytest_start", "install")
