"""The wheel, installed into a fresh environment as a user would."""

import os
import subprocess
import sys
import zipfile

from conftest import ROOT, build_wheel

SCRIPT = """
import jax, jax.numpy as jnp
assert "tilewright" in jax.devices()[0].client.platform_version, jax.devices()
x = jnp.arange(6.0).reshape(2, 3)
print(jax.jit(lambda x: (x @ x.T).sum())(x), jax.devices("tilewright"))
jax.debug.print("from the host {x}", x=x[0, 1])
jax.effects_barrier()
"""


def test_a_script_runs_after_pip_install(installed, tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_", "PYTHON"))}
    done = subprocess.run(
        [installed, "-c", SCRIPT], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "83.0 [cpu:0]\nfrom the host 1.0\n"


def test_a_wheel_is_the_same_every_time(tmp_path):
    first, second = build_wheel(tmp_path / "a"), build_wheel(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert "tilewright/libtilewright_pjrt.so" in names and "tilewright/jax_plugin.py" in names


def test_a_missing_library_is_said(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "tools/build-wheel", "--library", tmp_path / "no.so"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "cmake --build --preset release" in done.stderr
