"""How compile time and memory grow with the program: 10^3 to 10^5 ops, next to jaxlib's CPU compiler.

    python bench/compile_scaling.py [--ops 1000 10000 100000] [--timeout 600] [--out docs/design/compile-scaling]

A program is an unrolled network: layers of a matmul, a normalization, attention over four heads and a residual,
some thirty ops each, of 32x64 values. Layers are alike as those of real networks are, except for a number in one of
their fusions, of which there are sixteen. Both compilers get the same portable artifact and are processes of their own.
Ours is measured as a whole, from the file to the written executable; of jaxlib's only `compile` is, without Python,
imports and parsing; where it would take longer than the timeout, judged by the program before, it is left out. Time is told twice: on the wall, and of the processors, which others on the machine change less;
the picture shows the latter. Memory is the peak of the process; from jaxlib's, what it had before is taken off.

Writes OUT.json, and the picture OUT.svg that docs/design/compile-scaling.md shows.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench import plot  # noqa: E402

LAYER = """
  %{i}_s = stablehlo.constant dense<{number}> : tensor<32x64xf32>
  %{i}_0 = stablehlo.dot_general %{x}, %w{j}, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %{i}_1 = stablehlo.broadcast_in_dim %b{j}, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %{i}_2 = stablehlo.add %{i}_0, %{i}_1 : tensor<32x64xf32>
  %{i}_3 = stablehlo.reduce(%{i}_2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %{i}_4 = stablehlo.multiply %{i}_3, %part : tensor<32xf32>
  %{i}_5 = stablehlo.broadcast_in_dim %{i}_4, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %{i}_6 = stablehlo.subtract %{i}_2, %{i}_5 : tensor<32x64xf32>
  %{i}_7 = stablehlo.multiply %{i}_6, %{i}_6 : tensor<32x64xf32>
  %{i}_8 = stablehlo.reduce(%{i}_7 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %{i}_9 = stablehlo.multiply %{i}_8, %part : tensor<32xf32>
  %{i}_10 = stablehlo.add %{i}_9, %small : tensor<32xf32>
  %{i}_11 = stablehlo.rsqrt %{i}_10 : tensor<32xf32>
  %{i}_12 = stablehlo.broadcast_in_dim %{i}_11, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %{i}_13 = stablehlo.multiply %{i}_6, %{i}_12 : tensor<32x64xf32>
  %{i}_14 = stablehlo.multiply %{i}_13, %{i}_s : tensor<32x64xf32>
  %{i}_15 = stablehlo.tanh %{i}_14 : tensor<32x64xf32>
  %{i}_16 = stablehlo.reshape %{i}_15 : (tensor<32x64xf32>) -> tensor<32x4x16xf32>
  %{i}_17 = stablehlo.transpose %{i}_16, dims = [1, 0, 2] : (tensor<32x4x16xf32>) -> tensor<4x32x16xf32>
  %{i}_18 = stablehlo.dot_general %{i}_17, %{i}_17, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x32x16xf32>, tensor<4x32x16xf32>) -> tensor<4x32x32xf32>
  %{i}_19 = stablehlo.exponential %{i}_18 : tensor<4x32x32xf32>
  %{i}_20 = stablehlo.reduce(%{i}_19 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x32x32xf32>, tensor<f32>) -> tensor<4x32xf32>
  %{i}_21 = stablehlo.broadcast_in_dim %{i}_20, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x32xf32>
  %{i}_22 = stablehlo.divide %{i}_19, %{i}_21 : tensor<4x32x32xf32>
  %{i}_23 = stablehlo.dot_general %{i}_22, %{i}_17, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x32x32xf32>, tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
  %{i}_24 = stablehlo.transpose %{i}_23, dims = [1, 0, 2] : (tensor<4x32x16xf32>) -> tensor<32x4x16xf32>
  %{i}_25 = stablehlo.reshape %{i}_24 : (tensor<32x4x16xf32>) -> tensor<32x64xf32>
  %{i} = stablehlo.add %{i}_25, %{x} : tensor<32x64xf32>
"""
LAYER_OPS = LAYER.count(" = stablehlo.")
WEIGHTS = 8


def program(ops):
    """Returns the text of a program of about `ops` ops, and how many it has."""
    layers = max(1, round((ops - 4) / LAYER_OPS))
    parameters = ", ".join(f"%w{j}: tensor<64x64xf32>, %b{j}: tensor<64xf32>" for j in range(WEIGHTS))
    lines = [
        f"func.func public @main(%x: tensor<32x64xf32>, {parameters}) -> tensor<32x64xf32> {{",
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>",
        "  %part = stablehlo.constant dense<0.015625> : tensor<32xf32>",
        "  %small = stablehlo.constant dense<1.0e-5> : tensor<32xf32>",
    ]
    for i in range(layers):
        lines.append(LAYER.format(i=f"l{i}", x=f"l{i - 1}" if i else "x", j=i % WEIGHTS, number=f"{0.5 + i % 16 / 32:.5f}"))
    lines += [f"  return %l{layers - 1} : tensor<32x64xf32>", "}"]
    return "\n".join(lines), layers * LAYER_OPS + 4


def write_artifact(text, path):
    """Serializes in a process of its own, because the text of 10^5 ops takes Python some memory."""
    code = """
import sys
from jax._src.lib.mlir import ir
from jax._src.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo
with mlir.make_ir_context():
    module = ir.Module.parse(sys.stdin.read())
    data = stablehlo.serialize_portable_artifact(module, stablehlo.get_minimum_version())
open(sys.argv[1], "wb").write(data)
"""
    subprocess.run([sys.executable, "-c", code, path], input=text, text=True, check=True)


JAXLIB = """
import json, resource, sys, time
import jax
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax._src.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo
client = jax.devices("cpu")[0].client
with mlir.make_ir_context() as context:
    module = stablehlo.deserialize_portable_artifact(context, open(sys.argv[1], "rb").read())
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before, begin, cpu = peak(), time.perf_counter(), time.process_time()
    client.compile_and_load(module, xla_client.DeviceList(tuple(jax.devices("cpu"))), xla_client.CompileOptions())
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "MiB": (peak() - before) / 1024}))
"""


def measure(command, timeout, **environment):
    """Returns wall seconds, peak MiB and output of a process; None after the timeout."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    try:
        printed, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return None
    seconds = time.perf_counter() - begin
    if child.returncode:
        raise SystemExit(f"{command[0]} ended with {child.returncode}")
    return seconds, printed


def measure_tilewright(tool, artifact, folder, timeout):
    # The wrapper measures the peak of the child alone, without time(1), which would need a package.
    wrapper = (
        "import resource,subprocess,sys; c=subprocess.run(sys.argv[1:]); u=resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print('peak', u.ru_maxrss, u.ru_utime + u.ru_stime); sys.exit(c.returncode)"
    )
    command = [sys.executable, "-c", wrapper, tool, "compile", artifact, f"--output={folder}/program.twx", "--report"]
    done = measure(command, timeout)
    if not done:
        return None
    seconds, printed = done
    stages = {name: float(value) for name, value in re.findall(r"^(\w+) +([\d.]+) +\d+$", printed, re.MULTILINE)}
    peak, cpu = re.search(r"^peak (\d+) ([\d.]+)", printed, re.MULTILINE).groups()
    return {"seconds": seconds, "cpu": float(cpu), "MiB": int(peak) / 1024, "stages": stages}


def measure_jaxlib(artifact, timeout):
    done = measure([sys.executable, "-c", JAXLIB, artifact], timeout, JAX_PLATFORMS="cpu")
    return json.loads(done[1].splitlines()[-1]) if done else None


def is_hopeless(last, ops, timeout):
    """Whether jaxlib would exceed the timeout, if its time grows linearly from the last program: then it is not run."""
    return not last["jaxlib"] or last["jaxlib"]["seconds"] * ops / last["ops"] > timeout


def draw(rows, path):
    def series(who, what):
        return [(row["ops"], row[who][what]) for row in rows if row[who]]

    names = {"tilewright": "Tilewright", "jaxlib": "jaxlib's CPU compiler"}
    panels = [
        (title, {name: series(who, what) for who, name in names.items()})
        for title, what in (("processor seconds to compile", "cpu"), ("MiB at the peak", "MiB"))
    ]
    path.write_text(plot.log_log(panels, x_title="ops in the program"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one compilation")
    parser.add_argument("--tool", default=str(ROOT / "build/release/bin/tilewright"))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/design/compile-scaling")
    parser.add_argument("--without-jaxlib", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for wanted in options.ops:
            text, ops = program(wanted)
            artifact = f"{folder}/program.mlirbc"
            write_artifact(text, artifact)
            row = {"ops": ops, "tilewright": measure_tilewright(options.tool, artifact, folder, options.timeout)}
            hopeless = options.without_jaxlib or (rows and is_hopeless(rows[-1], ops, options.timeout))
            row["jaxlib"] = None if hopeless else measure_jaxlib(artifact, options.timeout)
            rows.append(row)
            print(json.dumps(row), flush=True)
    options.out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    draw(rows, options.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
