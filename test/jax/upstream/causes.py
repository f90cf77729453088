"""Known causes of failures of JAX's own tests, for the page: the first whose two patterns match the test's name and its message."""
import re

CAUSES = [
    # (what the test is called, what its message says, cause)
    (r"^absl_cpp_logging_test", r"hlo_pass_pipeline", "Looks for the log of XLA's passes."),
    (r"^buffer_callback_test.*test_numpy", r"XLA FFI GPU context", "Looks for XLA's words in the error for a stream on a CPU device. jaxlib keeps "
     "the code of the plugin's error and not its message."),
    (r"^layout_test", r"layout override|Tuples differ", "Asks for an order of dimensions in memory. Arrays are row-major here and the plugin says so: JAX "
     "refuses another order for an argument, and a result has not the order that was asked for."),
    (r"^shard_alike_test.*test_shard_map", r"spec=", "Two shardings are possible for the group; Tilewright chooses the other one."),
    (r"^array_interoperability_test", r"_get_max_align_bits", "Passes an unaligned array and reads the required alignment from the error. "
     "Tilewright copies such an array, even with copy=False, because jaxlib's own copy does not work for a plugin."),
    (r"^array_test.*getitem_compile_multi_device", r"Tuples differ", "Expects a reversed array to stay sharded along the reversed dimension. Tilewright replicates it."),
    (r"^compilation_cache_test.*test_dump_on_cache_hit", r"0 != 1", "Looks for XLA's dumps of HLO."),
    (r"^debugging_primitives_test.*InspectSharding", r"False is not true", "Tilewright does not call jax.debug.inspect_array_sharding in programs of several devices; a warning says so."),
    (r"^debugging_primitives_test.*diff_axes", r"Items in the first set", "Two operands of a partitioned print are sharded along different dimensions; Tilewright shards both along "
     "the same one."),
    (r"^device_test.*test_(repr|str)", r"not found in|AssertionError", "Looks for the name of XLA's CPU device; ours contains tilewright."),
    (r"^x64_context_test.*near_singular", r"is not true", "Expects a nearly singular matrix to be singular in f32, which depends on the order of roundings."),
    (r"^xla_transform_test", r"AssertionError", "Registers a pass over XLA's HLO. Tilewright does not run it, and a warning names it."),
    (r"^string_array_test", r"String arrays", "Arrays of strings: JAX has them only for devices of the kind 'cpu', which are jaxlib's."),
    (r"^pjit_test.*empty_io_callback", r"E1020", "An ordered callback under shard_map: the serialized program has a StableHLO token in a Shardy op, which the importer rejects."),
    (r"^pjit_test.*minibatch_scan", r"4 != 1", "Counts the all-reduces of the compiled program's text. The text shows the program of one device before Tilewright "
     "combines its collectives."),
    (r"^nn_test.*Orthogonal", r"Not equal to tolerance", "Multiplies f32 matrices at the default precision, which is that of tf32 on this target, and expects the accuracy "
     "of f32. Passes with `JAX_DEFAULT_MATMUL_PRECISION=highest`."),
    (r"", r"E4070 .*all_reduce", "A collective, also of one device (`pmap`): GPU programs have none yet."),
    (r"^logging_test", r"False is not true", "Starts a process of its own, in which the plugin is not installed."),
    (r"^custom_partitioning_test.*invalid_sharding", r"not raised", "Gives a wrong partition rule and expects its error. Tilewright does not call the rule: it shards the "
     "function's body like other code."),
    (r"^export_test.*different_partitioners", r"sharding override", "jaxlib converts a program that mixes GSPMD and Shardy shardings to GSPMD shardings, "
     "which Tilewright does not read."),
]  # fmt: skip


def explained(test, message):
    """The cause of a known failure, or None."""
    for name, said, cause in CAUSES:
        if re.search(name, test) and re.search(said, message):
            return cause
    return None
