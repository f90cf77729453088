"""Every row of the table as JAX programs for eight devices, and as the program of one device that we make of it.

Only lowers and partitions: no program runs, and jaxlib compiles nothing here.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

# Before jax is imported: it makes the devices when it starts.
if "device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import anchors  # noqa: E402
import collectives  # noqa: E402
import jax  # noqa: E402
import micros  # noqa: E402
import transformer  # noqa: E402
from jax._src.lib import _jax  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

TOOLS = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "bin"
# The phase of the compiler that divides programs.
PHASES = ("--distribute",)


def mesh_of(axes):
    return jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def lower_anchor(anchor, layers):
    mesh = mesh_of(anchor.scheme.mesh)

    def to_sharding(spec):
        return NamedSharding(mesh, spec)

    return transformer.lower(
        anchor.scheme, layers, to_sharding, lambda x, spec: jax.lax.with_sharding_constraint(x, to_sharding(spec))
    )


def lower_micro(micro):
    mesh = mesh_of(micros.MESH)
    types, specs = zip(*micro.inputs)
    shardings = [NamedSharding(mesh, spec) for spec in specs]
    jitted = jax.jit(micro.function, in_shardings=shardings, out_shardings=NamedSharding(mesh, micro.output))
    return jitted.lower(*types)


def lower_all(names=()):
    """(row, part, lowered program) of every row, or of `names`. An anchor has two parts, whose difference is a layer."""
    for name, anchor in anchors.ANCHORS.items():
        if not names or name in names:
            for layers in anchor.layers:
                yield name, str(layers), lower_anchor(anchor, layers)
    for name, micro in micros.MICROS.items():
        if not names or name in names:
            yield name, "", lower_micro(micro)


def artifact_of(lowered):
    """The bytes that JAX passes to a PJRT plugin."""
    version = stablehlo.get_version_from_compatibility_requirement(
        stablehlo.StablehloCompatibilityRequirement.WEEK_4
    )
    return _jax.mlir.serialize_portable_artifact(lowered.compiler_ir("stablehlo"), version, True)


def divide(lowered):
    """The program of one device, in MLIR's generic form."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "program.mlirbc"
        file.write_bytes(artifact_of(lowered))
        text = run("tilewright", "print", file)
        return run("tilewright-opt", "-", *PHASES, "--mlir-print-op-generic", text=text)


def run(tool, *arguments, text=None):
    done = subprocess.run([TOOLS / tool, *arguments], input=text, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{tool} failed: {done.stderr[-2000:]}")
    return done.stdout


def layer_of(counts, anchor):
    """(one layer, what is outside of layers) from the counts of both programs."""
    fewer, more = anchor.layers
    small, large = counts[str(fewer)], counts[str(more)]
    layer = large - small
    outside = small
    for _ in range(fewer):
        outside = outside - layer
    return layer, outside


def rows_of(counts):
    """The counts of programs as rows of the table: {row: (what counts, the rest)}; the rest of a micro-program is None."""
    rows = {}
    for name, parts in counts.items():
        rows[name] = layer_of(parts, anchors.ANCHORS[name]) if name in anchors.ANCHORS else (parts[""], None)
    return rows


def count_ours(names=()):
    counts = {}
    for name, part, lowered in lower_all(names):
        counts.setdefault(name, {})[part] = collectives.of_module(divide(lowered))
    return rows_of(counts)
