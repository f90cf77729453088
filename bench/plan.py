"""What the plan of a program moves: bytes, launches and temporaries of bench/suite.py's programs and the models of test/gpu/models.

    python bench/plan.py --out before.json                  # with one version of the compiler
    python bench/plan.py --before before.json               # with another: a row for each program whose plan differs

Programs are compiled, not run. bench/suite.py's are compiled for the CPU, models for --chip, in bf16. `gpt_wide` is
gpt_unrolled with 4 layers of width 1024. Bytes are those of the operands and results of all steps.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "bin/tilewright"
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
WIDE = {"WIDTH": 1024, "HEADS": 16, "LENGTH": 1024, "VOCABULARY": 32000, "LAYERS": 4, "BATCH": 8}


def artifacts(names):
    """Each program as a portable artifact, and whether it is for a GPU."""
    sys.path[:0] = [str(ROOT), str(ROOT / "test/gpu/models")]
    import gpt
    import jax
    import lowering

    from bench import suite

    def on_cpu(make):
        function, arguments = make()
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) if hasattr(x, "shape") else x, arguments)
        return jax.export.export(jax.jit(function), platforms=["cpu"])(*shapes).mlir_module_serialized

    def wide():
        vars(gpt).update(WIDE)
        return lowering.artifact("gpt_unrolled", jax.numpy.bfloat16, "cuda")[0]

    makers = {name: (lambda make=row[1]: on_cpu(make), False) for name, row in suite.PROGRAMS.items()}
    makers |= {name: (lambda name=name: lowering.artifact(name, jax.numpy.bfloat16, "cuda")[0], True) for name in lowering.catalog.MODELS}
    makers["gpt_wide"] = (wide, True)
    for name, (make, on_gpu) in makers.items():
        if not names or name in names:
            yield name, make(), on_gpu


def plan(program, chip, folder):
    """The row of a program; the compiler's message if it refuses the program."""
    file, output = folder / "program.mlirbc", folder / "program.twx"
    file.write_bytes(program)
    compiled = subprocess.run([TOOL, "compile", file, f"--output={output}", *([f"--target={chip}"] if chip else [])], capture_output=True, text=True)
    if compiled.returncode:
        return {"refused": compiled.stderr.splitlines()[0]}
    said = subprocess.run([TOOL, "report", output, f"--output={folder / 'report.html'}"], capture_output=True, text=True, check=True).stdout
    moved, unit = re.search(r"([\d.]+) (\w?)B read and written", said).groups()
    launches, calls = re.search(r"kernels .*?(\d+) launch\w*, (\d+) library", said).groups()
    return {"bytes": float(moved) * UNITS[unit], "launches": int(launches), "calls": int(calls), "temporaries": re.search(r"temporaries +(.*)", said)[1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--out")
    parser.add_argument("--before")
    arguments = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    before = json.loads(pathlib.Path(arguments.before).read_text()) if arguments.before else {}
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, program, on_gpu in artifacts(arguments.only):
            rows[name] = row = plan(program, arguments.chip if on_gpu else None, pathlib.Path(folder))
            if before.get(name) != row:
                print(f"{name:28} {before[name]} -> {row}" if name in before else f"{name:28} {row}", flush=True)
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
