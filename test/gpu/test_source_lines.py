"""What the virtual GPU counts, and what a timeline shows, has the lines of the user's JAX script."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "lib/libtilewright_pjrt.so"
SCRIPT = """\
import jax
from jax import numpy as jnp

def layer(x, w):
    return jnp.tanh(
        x @ w)

@jax.jit
def f(x, w):
    return layer(x, w).sum(axis=1) * 2

f(jnp.ones((128, 64)), jnp.ones((64, 32))).block_until_ready()
"""
TANH, DOT, SUM = 5, 6, 10
START = f"""
import runpy, sys
sys.path.insert(0, {str(ROOT / "python")!r})
from tilewright import jax_plugin
jax_plugin.initialize()
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(folder, **variables):
    script = folder / "script.py"
    script.write_text(SCRIPT)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    kept |= {"JAX_PLATFORMS": "tilewright", "TILEWRIGHT_LIBRARY": str(LIBRARY)} | variables
    ended = subprocess.run([sys.executable, "-c", START, script], capture_output=True, text=True, timeout=600, env=kept)
    assert ended.returncode == 0, ended.stderr[-4000:]


def lines_of(counts):
    """The lines of the script in a table of counts."""
    table = counts.read_text().split("script.py\n", 1)[1].splitlines()[1:]
    return {int(row.split()[0]) for row in table if row.strip() and row.split()[0].isdigit()}


def test_counts_are_by_line_of_the_script(tmp_path):
    counts, trace = tmp_path / "counts", tmp_path / "trace.json"
    settings = {"TILEWRIGHT_VGPU_CHECK": "count", "TILEWRIGHT_VGPU_COUNTS": str(counts), "TILEWRIGHT_TRACE_FILE": str(trace)}
    run(tmp_path, TILEWRIGHT_TARGET="vgpu:sm_90a", **settings)
    (product,) = counts.glob("*-dot_general.counts.txt")
    assert lines_of(product) == {DOT}
    (rest,) = counts.glob("*tanh*.counts.txt")
    assert lines_of(rest) == {TANH, SUM}
    events = json.loads(trace.read_text())["traceEvents"]
    assert [event for event in events if event.get("cat") == "compile" and event["name"] == "dot_general"]
    (ran,) = [event for event in events if event.get("cat") == "kernel" and event["name"] == "dot_general"]
    assert ran["args"]["source"] == f"{tmp_path / 'script.py'}:{DOT} jit(f)/dot_general"


def test_a_timeline_names_the_lines_and_ops_of_a_kernel(tmp_path):
    trace = tmp_path / "trace.json"
    run(tmp_path, TILEWRIGHT_TRACE_FILE=str(trace))
    events = json.loads(trace.read_text())["traceEvents"]
    sources = {event["args"]["source"] for event in events if "source" in event.get("args", {})}
    (tanh,) = [source for source in sources if "tanh" in source]
    script = tmp_path / "script.py"
    assert f"{script}:{TANH} jit(f)/tanh" in tanh
    assert f"{script}:{SUM} jit(f)/mul" in tanh and "jit(f)/reduce_sum" in tanh
