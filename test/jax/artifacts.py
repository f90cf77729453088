"""A program as a portable artifact, its inputs as arrays, and jaxlib's answer."""

import dataclasses
import os

# Before jax is imported: four devices for shard_map; each op rounds to its type, as in the evaluator, which XLA may
# otherwise skip between two bf16 ops; and fast compilation, since each program runs once.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=4 --xla_allow_excess_precision=false "
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from catalog import Input  # noqa: E402
from jax import export  # noqa: E402


@dataclasses.dataclass
class Case:
    """The inputs for the evaluator, and the expected results."""

    name: str
    op_class: str
    ranks: int
    artifact: bytes
    inputs: list[np.ndarray]
    expected: list[np.ndarray]

    def artifact_file(self, folder):
        return folder / f"{self.name}.mlirbc"


def make(program):
    """Exports a program, generates its inputs, and computes the outputs with jaxlib."""
    with jax.enable_x64(program.x64):
        arguments = program.arguments()
        exported = export.export(jax.jit(program.function), platforms=[program.platform])(*_specs(program, arguments))
        outputs = jax.jit(program.function)(*arguments)
    leaves = jax.tree.leaves(arguments)
    return Case(
        program.name, program.op_class, program.ranks, exported.mlir_module_serialized,
        # jit drops unused arguments; so does the artifact's signature.
        [leaves[i] for i in exported.module_kept_var_idx],
        [np.asarray(leaf) for leaf in jax.tree.leaves(outputs)],
    )  # fmt: skip


def _specs(program, arguments):
    """Shapes and types of the arguments, with symbols where the program has them."""
    scope = export.SymbolicScope()

    def spec(declared, array):
        shape = array.shape if declared.symbolic is None else export.symbolic_shape(declared.symbolic, scope=scope)
        return jax.ShapeDtypeStruct(shape, array.dtype)

    return jax.tree.map(spec, program.inputs, arguments, is_leaf=lambda i: isinstance(i, Input))
