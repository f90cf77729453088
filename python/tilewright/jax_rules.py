"""JAX features that call back into Python from XLA's own partitioner and passes, and their replacements.

This plugin has no XLA compiler to call back from. custom_partitioning is
compiled from the function itself. For inspect_array_sharding and HLO
transformations the user gets a warning that they do not run. ragged_dot and
scaled_matmul are lowered as for other compilers that have their own code for them.
"""

import warnings

_NAME = "tilewright"


class HloTransformationWarning(UserWarning):
    """A registered HLO transformation is not applied to programs of this plugin."""


def install() -> None:
    """Installs the replacements; called once, when the plugin is registered."""
    _compile_custom_partitioning()
    _announce_inspections()
    _announce_hlo_transformations()
    _keep_ragged_dots()
    _keep_scaled_matmuls()


def _is_ours(client) -> bool:
    return _NAME in getattr(client, "platform_version", "")


def _is_for_us(context) -> bool:
    devices = _devices_of(context)
    return _is_ours(getattr(devices[0], "client", None) if devices else context.backend)


def _devices_of(context) -> tuple:
    """The devices that a module is lowered for, if they are known."""
    from jax._src import sharding_impls

    axes = context.axis_context
    if isinstance(axes, sharding_impls.ShardingContext):
        return axes.device_assignment or ()
    if isinstance(axes, sharding_impls.SPMDAxisContext):
        return axes.mesh._flat_devices_tuple
    return ()


def _is_for_one_device(context) -> bool:
    from jax._src import sharding_impls

    axes = context.axis_context
    return isinstance(axes, sharding_impls.ShardingContext) and axes.num_devices == 1


def _compile_custom_partitioning() -> None:
    """Compiles a custom_partitioning function from its body, which is sharded like other code.

    Its partition rule describes how one device computes its shard of the same
    function, so the values are the same; only the sharding is the compiler's choice.
    Its sharding_rule goes with the results, so that shardings of arguments reach them.
    """
    from jax._src import core, custom_partitioning
    from jax._src.interpreters import mlir

    theirs = custom_partitioning._custom_partitioning_lowering_rule

    def lower(ctx, *values, call, sharding_rule, static_args, **parameters):
        if not _is_for_us(ctx.module_context):
            return theirs(ctx, *values, call=call, sharding_rule=sharding_rule, static_args=static_args, **parameters)
        results = mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *values)
        if sharding_rule is None or not results or _is_for_one_device(ctx.module_context):
            return results
        return _follow_sharding_rule(ctx, sharding_rule, static_args, values, results)

    mlir.register_lowering(custom_partitioning.custom_partitioning_p, lower)


def _mesh_of(context):
    """The mesh that JAX passes to a callable sharding_rule."""
    import numpy as np
    from jax._src import mesh

    devices, abstract = _devices_of(context), getattr(context.axis_context, "abstract_mesh", None)
    if abstract is None or not devices:
        return mesh.thread_resources.env.physical_mesh
    return mesh.Mesh(np.array(devices).reshape(abstract.axis_sizes), abstract.axis_names)


def _follow_sharding_rule(ctx, rule, static_args, values, results):
    """The results, as the results of a call that has the rule: see isRuleOfFunction in ShardingRules.h."""
    from jax._src import custom_partitioning_sharding_rule as rules
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    values, results = list(values), list(results)
    if not all(isinstance(value, ir.Value) for value in values + results):
        return results  # a token, or a type that JAX spreads over several values
    inputs, outputs = [v.type for v in values], [r.type for r in results]
    if callable(rule):
        made = rule(*static_args, _mesh_of(ctx.module_context), inputs, outputs)
        rule, options = made if isinstance(made, (list, tuple)) and len(made) == 2 else (made, {})
        if isinstance(rule, str):
            rule = rules.str_to_sdy_sharding_rule(rule, **options)
    rules.sdy_sharding_rule_to_mlir(rule, inputs, outputs)  # raises if it does not fit the function
    both = rules.SdyShardingRule(
        tuple(rule.operand_mappings) + tuple(rule.result_mappings), tuple(rule.result_mappings),
        reduction_factors=rule.reduction_factors, need_replication_factors=rule.need_replication_factors,
        permutation_factors=rule.permutation_factors, **rule.factor_sizes,
    )  # fmt: skip
    call = hlo.CustomCallOp(
        outputs, values + results, call_target_name=ir.StringAttr.get("tilewright.sharding_rule"),
        has_side_effect=ir.BoolAttr.get(False), api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
        called_computations=ir.ArrayAttr.get([]), backend_config=ir.DictAttr.get({}), operand_layouts=None, result_layouts=None,
    )  # fmt: skip
    call.attributes["sdy.sharding_rule"] = rules.sdy_sharding_rule_to_mlir(both, inputs + outputs, outputs)
    return list(call.results)


def _announce_inspections() -> None:
    """Drops jax.debug.inspect_array_sharding from a program, with a warning."""
    from jax._src import debugging
    from jax._src.interpreters import mlir

    theirs = debugging._inspect_sharding_lowering_rule

    def lower(ctx, value, *, callback):
        if len(_devices_of(ctx.module_context)) == 1 or not _is_for_us(ctx.module_context):
            return theirs(ctx, value, callback=callback)
        warnings.warn(
            "jax.debug.inspect_array_sharding is skipped for programs on several devices on Tilewright; "
            "read the shardings of arguments and results from the arrays",
            stacklevel=2,
        )
        return []

    mlir.register_lowering(debugging.inspect_sharding_p, lower)


def _announce_hlo_transformations() -> None:
    """Warns where JAX would pass a transformation to the client; JAX itself only logs that."""
    try:
        from jax._src import xla_transform
    except ImportError:  # JAX before 0.10.2
        return
    theirs = xla_transform._xla

    class Registrations:
        def __getattr__(self, name):
            return getattr(theirs, name)

        def register_xla_transform_c_api(self, client, name, stage, callback):
            if not _is_ours(client):
                return theirs.register_xla_transform_c_api(client, name, stage, callback)
            warnings.warn(
                f"the HLO pass '{name}' is not run: Tilewright compiles StableHLO and has no HLO "
                "module to give it; programs are compiled without it",
                HloTransformationWarning,
                stacklevel=4,
            )

        def clear_xla_transform_c_api(self, client, name, stage):
            if not _is_ours(client):
                return theirs.clear_xla_transform_c_api(client, name, stage)
            return False

    if theirs is not None:
        xla_transform._xla = Registrations()


def _keep_ragged_dots() -> None:
    """Lowers ragged_dot to chlo.ragged_dot, whose groups the compiler sees, as JAX does for GPUs and TPUs.

    JAX's lowering for `cpu` multiplies every row by the weights of every group. Programs for several
    devices keep it, because it is made of ops that can be sharded.
    """
    from jax._src.interpreters import mlir
    from jax._src.lax import lax

    if not hasattr(lax, "_ragged_dot_general_lower"):  # another JAX
        return
    theirs = mlir.lower_fun(lax._ragged_dot_general_impl, multiple_results=False)

    def can_serialize(numbers, rank) -> bool:
        """jaxlib cannot serialize rows, or contracted dimensions, besides the ragged one."""
        (contracted, _), (batching, _) = numbers.dot_dimension_numbers
        ragged = numbers.lhs_ragged_dimensions[0]
        return ragged in batching or (len(contracted) if ragged in contracted else rank - len(contracted) - len(batching)) == 1

    def lower(ctx, *values, precision, **parameters):
        has_op = not isinstance(precision, (lax.DotAlgorithm, lax.DotAlgorithmPreset))
        has_op = has_op and can_serialize(parameters["ragged_dot_dimension_numbers"], ctx.avals_in[0].ndim)
        if not has_op or not _is_for_one_device(ctx.module_context) or not _is_for_us(ctx.module_context):
            return theirs(ctx, *values, precision=precision, **parameters)
        return lax._ragged_dot_general_lower(ctx, *values, precision=precision, **parameters, platform="gpu")

    mlir.register_lowering(lax.ragged_dot_general_p, lower, platform="cpu")


def _keep_scaled_matmuls() -> None:
    """Lowers jax.nn.scaled_matmul, and what calls it, to the custom call that JAX emits for CUDA.

    JAX has no lowering for `cpu`, so nothing is replaced.
    """
    from jax._src.interpreters import mlir

    try:
        from jax._src.cudnn import scaled_matmul_stablehlo as scaled
        primitive, lower_for_cuda = scaled._scaled_matmul_p, scaled._scaled_matmul_gpu_lowering
    except (ImportError, AttributeError):  # another JAX
        return

    def lower(ctx, *values, **parameters):
        if not _is_for_us(ctx.module_context):
            raise NotImplementedError("jax.nn.scaled_matmul has no lowering for platform cpu, except on Tilewright")
        return lower_for_cuda(ctx, *values, **parameters)

    mlir.register_lowering(primitive, lower, platform="cpu")
