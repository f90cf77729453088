"""Runs one workload and saves its results: python run_workload.py NAME FILE.npz; the environment selects the backend."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

name, target = sys.argv[1:]
import jax  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

found = WORKLOADS[name]()
print("backend:", jax.devices()[0].client.platform_version.splitlines(), file=sys.stderr)
arrays = {}
for key, value in found.items():
    if isinstance(value, tuple):
        arrays[key + "|estimate"], arrays[key + "|error"] = value
    else:
        arrays[key] = value
np.savez(target, **arrays)
