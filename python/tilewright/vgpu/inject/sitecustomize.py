"""Loaded by every Python that `tilewright vgpu run` starts, since this folder is first on PYTHONPATH.

Installs the hooks of the package in the parent folder under a private name. So the program's Python needs no installed
tilewright and sees no files beside this one. Then runs the sitecustomize that this one hides.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys


def load_package():
    folder = pathlib.Path(__file__).resolve().parent.parent
    spec = importlib.util.spec_from_file_location(
        "tilewright_vgpu", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules["tilewright_vgpu"] = package
    spec.loader.exec_module(package)
    return package


def run_hidden_sitecustomize():
    here = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


# A program that only inherited PYTHONPATH does not run on the virtual driver.
if os.environ.get("TILEWRIGHT_VGPU_SUMMARY"):
    try:
        load_package().start()
    except Exception as error:  # the program must run in any case
        print(f"tilewright vgpu: torch and pytest are not patched, because of {error!r}", file=sys.stderr)
run_hidden_sitecustomize()
