"""The wheel, installed into a fresh environment as a user would."""

import os
import subprocess

import pytest
from conftest import ROOT

SCRIPT = """
import jax, jax.numpy as jnp
assert "tilewright" in jax.devices()[0].client.platform_version, jax.devices()
x = jnp.arange(6.0).reshape(2, 3)
print(jax.jit(lambda x: (x @ x.T).sum())(x), jax.devices("tilewright"), jax.devices()[0].device_kind)
jax.debug.print("from the host {x}", x=x[0, 1])
jax.effects_barrier()
"""


@pytest.fixture
def run(installed, tmp_path):
    """A command of the fresh environment, with none of the tests' variables."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_", "PYTHON"))}

    def run(*command, code=0, **variables):
        done = subprocess.run(
            [installed.parent / command[0], *map(str, command[1:])], env=kept | variables, cwd=tmp_path,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def test_a_script_runs_after_pip_install_and_one_line_says_so(run):
    done = run("python", "-c", SCRIPT)
    assert done.stdout == "83.0 [tilewright cpu:0] tilewright cpu\nfrom the host 1.0\n"
    (line,) = [line for line in done.stderr.splitlines() if "tilewright" in line]
    assert "runs the JAX programs of this process on the CPU (" in line
    assert "JAX_PLATFORMS=cpu switches it off" in line and "TILEWRIGHT_QUIET=1 hides this line" in line


def test_quiet_is_quiet_and_off_is_off(run):
    assert run("python", "-c", SCRIPT, TILEWRIGHT_QUIET="1").stderr == ""
    quiet = "import tilewright; tilewright.configure(quiet=True); import jax; print(jax.devices())"
    assert "tilewright" not in run("python", "-c", quiet).stderr
    off = run("python", "-c", "import jax; print(jax.devices()[0].client.platform_version)", JAX_PLATFORMS="cpu")
    assert "tilewright" not in off.stdout + off.stderr


def test_a_misspelt_variable_is_told(run):
    done = run("python", "-c", "import jax; jax.devices()", TILEWRIGHT_RUNTIME_DEVICE="2")
    assert "did you mean TILEWRIGHT_RUNTIME_DEVICES?" in done.stderr


def test_the_virtual_gpu_needs_one_variable_only(run):
    script = "import jax, jax.numpy as jnp; print(jnp.exp(jnp.zeros(4)).sum(), jax.devices()[0].device_kind)"
    done = run("python", "-c", script, TILEWRIGHT_TARGET="vgpu:sm_90a", TILEWRIGHT_VGPU_CHECK="all")
    assert done.stdout == "4.0 tilewright cuda\n"
    assert "Tilewright virtual H100" in done.stderr


def test_the_whole_command_is_there(run, tmp_path):
    program = ROOT / "docs/examples/softmax.mlir"
    assert run("tilewright", "--version").stdout.startswith("tilewright 0.")
    commands = run("tilewright", "--help").stdout
    for name in ("compile", "run", "print", "explain", "report", "comm", "verify-comm", "options", "vgpu"):
        assert f"\n  {name} " in commands
    assert f"wrote {tmp_path}/s.twx" in run("tilewright", "compile", program, f"--output={tmp_path}/s.twx").stdout
    for file in (program, tmp_path / "s.twx"):
        assert "0.0320586" in run("tilewright", "run", file, "--input", "4xf32=1,2,3,4").stdout
    assert "What to do." in run("tilewright", "explain", "E2010").stdout
    assert "stablehlo" in run("tilewright", "print", program).stdout
    run("tilewright", "vgpu", "run", "--", "python", "-c", "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)")


def test_explain_shows_a_function_in_a_notebook(run, tmp_path):
    script = f"""
import jax, jax.numpy as jnp, tilewright
page = tilewright.explain(lambda x: jax.nn.softmax(x @ x.T), jnp.ones((8, 8)))
page.save({str(tmp_path / "page.html")!r})
print(page)
print(page._repr_html_()[:16])
"""
    done = run("python", "-c", script, TILEWRIGHT_QUIET="1")
    assert "kernels" in done.stdout and "<iframe srcdoc=" in done.stdout
    text = (tmp_path / "page.html").read_text()
    for section in ("Kernels", "Fusions", "Memory", "Communication", "The plan", "Compile time"):
        assert f"<h2>{section}</h2>" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text and "<script" not in text


def test_a_damaged_installation_says_what_to_do(run, installed):
    library = next(installed.parents[1].glob("lib/python*/site-packages/tilewright/native/bin/tilewright"))
    aside = library.rename(library.with_suffix(".aside"))
    try:
        assert "pip install --force-reinstall tilewright" in run("tilewright", "--version", code=1).stderr
    finally:
        aside.rename(library)
