"""Reading speed and memory: our importer next to jaxlib's deserialiser, in one run, on the same files.

    python bench/reading.py [--build build/release] [--ops 100000] [--constant-mib 1024] [--runs 5]

Each reader runs in a process of its own, so that peak memory is its own. Seconds are the best of
--runs; both readers decode, build the module and verify it. The files are made here, by jaxlib.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

THEIR_READING = """
import json, re, sys, time
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir.dialects import stablehlo
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) * 1024
path, runs = sys.argv[1], int(sys.argv[2])
start_bytes = peak()
seconds = []
for _ in range(runs):
    context = jax_mlir.make_ir_context()
    with context:
        start = time.perf_counter()
        with open(path, "rb") as file:
            module = stablehlo.deserialize_portable_artifact(context, file.read())
        seconds.append(time.perf_counter() - start)
        del module
print(json.dumps({"seconds": seconds, "start_bytes": start_bytes, "peak_bytes": peak()}))
"""


def many_operations(count: int) -> bytes:
    """A chain of elementwise, shape and reduction ops with constants and attributes among them."""
    from jaxlib.mlir.dialects import stablehlo
    lines = ["func.func @main(%v0: tensor<8x128xf32>) -> tensor<8x128xf32> {"]
    value = 0
    while len(lines) < count:
        a, b, c, d, e = (f"%v{value + i}" for i in range(1, 6))
        lines += [
            f"{a} = stablehlo.constant dense<{value % 97}.5> : tensor<8x128xf32>",
            f"{b} = stablehlo.multiply %v{value}, {a} : tensor<8x128xf32>",
            f"{c} = stablehlo.tanh {b} : tensor<8x128xf32>",
            f"{d} = stablehlo.transpose {c}, dims = [1, 0] : (tensor<8x128xf32>) -> tensor<128x8xf32>",
            f"{e} = stablehlo.reshape {d} : (tensor<128x8xf32>) -> tensor<8x128xf32>",
        ]
        value += 5
    lines += [f"return %v{value} : tensor<8x128xf32>", "}"]
    return stablehlo.serialize_portable_artifact_str("\n".join(lines), "1.13.0")


def large_constant(mebibytes: int) -> bytes:
    """One f32 constant, returned."""
    import numpy
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func, stablehlo
    count = mebibytes * (1 << 18)
    with jax_mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.create()
        type = ir.RankedTensorType.get((count,), ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([], [type]))
            with ir.InsertionPoint(function.add_entry_block()):
                values = numpy.arange(count, dtype=numpy.float32)
                func.ReturnOp([stablehlo.constant(ir.DenseElementsAttr.get(values, type=type))])
        return stablehlo.serialize_portable_artifact(module, "1.13.0")


def measured(command) -> dict:
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    if result.returncode != 0:
        sys.exit(result.stderr)
    return json.loads(result.stdout)


def compare(name: str, path: Path, probe: Path, runs: int, operations: int | None):
    size = path.stat().st_size
    ours = measured([probe, "time", path, str(runs)])
    theirs = measured([sys.executable, "-c", THEIR_READING, path, str(runs)])
    print(f"{name}: {size / 2**20:.1f} MiB")
    for who, figures in (("tilewright", ours), ("jaxlib", theirs)):
        best = min(figures["seconds"])
        grown = figures["peak_bytes"] - figures["start_bytes"]
        ops = f", {operations / best:,.0f} ops/s" if operations else ""
        print(f"  {who:10}  {best:8.4f} s, {size / best / 2**20:10,.1f} MiB/s{ops}, "
              f"memory + {grown / 2**20:,.0f} MiB ({grown / size:.2f} x the file)")
    visited = ours["visited_peak_bytes"] - ours["start_bytes"]
    if ours["sum"]:
        print(f"  tilewright, then every byte of the constants visited: "
              f"{min(ours['seconds']) + ours['visiting_seconds']:.4f} s, "
              f"memory + {visited / 2**20:,.0f} MiB ({visited / size:.2f} x the file)")
    print(f"  ratio       {min(theirs['seconds']) / min(ours['seconds']):.2f} x as fast as jaxlib")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--ops", type=int, default=100_000)
    parser.add_argument("--constant-mib", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    probe = arguments.build / "test/import/import-probe"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "artifact.mlirbc"
        path.write_bytes(many_operations(arguments.ops))
        compare(f"{arguments.ops} operations", path, probe, arguments.runs, arguments.ops)
        # In a process of its own, because making the file needs several times its size.
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import reading; " \
               f"open({str(path)!r}, 'wb').write(reading.large_constant({arguments.constant_mib}))"
        subprocess.run([sys.executable, "-c", code], check=True)
        compare(f"a constant of {arguments.constant_mib} MiB", path, probe, arguments.runs, None)


if __name__ == "__main__":
    main()
