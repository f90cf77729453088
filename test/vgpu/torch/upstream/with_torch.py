"""Names of torch 2 that Triton's tests use when they are imported, for an older torch.

    python with_torch.py SCRIPT [ARGUMENTS]

runs a script with these names. A test that really needs one of the types fails, and counts as a failure of torch.
"""

import ctypes
import gc
import importlib.util
import runpy
import sys
import types


class MissingType:
    """A placeholder for a dtype that this torch does not have."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


def complete():
    import torch

    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz",
                 "float8_e8m0fnu", "float4_e2m1fn_x2", "uint16", "uint32", "uint64"):  # fmt: skip
        if not hasattr(torch, name):
            setattr(torch, name, MissingType(name))
    if not hasattr(torch.Tensor, "untyped_storage"):
        torch.Tensor.untyped_storage = lambda self: self.storage().untyped()
    if not hasattr(torch.dtype, "itemsize"):
        # A C type: its dictionary accepts new names only this way.
        gc.get_referents(torch.dtype.__dict__)[0]["itemsize"] = property(
            lambda self: torch.empty((), dtype=self).element_size()
        )
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(torch.dtype))
    matmul = type(torch.backends.cuda.matmul)  # rejects unknown names
    if not hasattr(matmul, "allow_bf16_reduced_precision_reduction"):
        known, matmul.allow_bf16_reduced_precision_reduction = matmul.__setattr__, True
        matmul.__setattr__ = lambda self, name, value: (
            None if name == "allow_bf16_reduced_precision_reduction" else known(self, name, value)
        )


def complete_packages():
    """A tutorial prints a table with a package that the distribution's environment may lack."""
    if importlib.util.find_spec("tabulate") is None:
        sys.modules["tabulate"] = types.ModuleType("tabulate")
        sys.modules["tabulate"].tabulate = lambda rows: "\n".join(" ".join(map(str, row)) for row in rows)


if __name__ == "__main__":
    complete()
    complete_packages()
    sys.argv = sys.argv[1:]
    sys.path[0] = str(__import__("pathlib").Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
