# Made from tilewright/support/Options.def by `tilewright options --python`.
# ruff: noqa: E501
"""Every option of Tilewright as a field: runtime.memory-limit is runtime_memory_limit."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptionTable:
    """None leaves an option to the environment, and then to its default."""

    import_max_bytes: int | None = None
    """Max bytes of an artifact; changes what is compiled."""
    import_max_ops: int | None = None
    """Max number of operations in one artifact; changes what is compiled."""
    import_max_nesting: int | None = None
    """Max nesting depth of regions, types and attributes; changes what is compiled."""
    import_max_rank: int | None = None
    """Max number of dimensions of a tensor; changes what is compiled."""
    import_max_elements: int | None = None
    """Max number of elements of a tensor type; changes what is compiled."""
    import_max_literal_bytes: int | None = None
    """Max bytes of constants in one artifact; changes what is compiled."""
    import_max_parts: int | None = None
    """Max number of nested parts of all types and attributes; changes what is compiled."""
    compile_target: str | None = None
    """Machine to compile for: a chip by name, or vgpu: and a GPU's name; changes what is compiled."""
    compile_processors: int | None = None
    """Number of SMs of the GPU that a program may use; 0 for all SMs of the chip; changes what is compiled."""
    compile_gpu_accuracy: str | None = None
    """Accuracy of functions of f32 on NVIDIA GPUs: full, balanced or fast; changes what is compiled."""
    compile_dump_dir: str | None = None
    """Folder for dumps of the module after each phase; changes neither code nor results."""
    compile_verify: bool | None = None
    """Verify the module after each pass; changes what is compiled."""
    compile_max_seconds: int | None = None
    """Max seconds of a compilation; 0 for no limit; changes neither code nor results."""
    compile_max_memory: int | None = None
    """Max growth of the process's memory during a compilation, in bytes; 0 for no limit; changes neither code nor results."""
    compile_cache_dir: str | None = None
    """Folder for compiled programs, which later processes load instead of compiling again; changes neither code nor results."""
    compile_cache_bytes: int | None = None
    """Max bytes of files in compile.cache-dir; 0 for no limit; changes neither code nor results."""
    compile_verify_comm: bool | None = None
    """Reject a program whose ranks could deadlock; changes what is compiled."""
    compile_remarks: str | None = None
    """Print remarks of a phase to standard error: distribute, fuse, tile or all; changes neither code nor results."""
    compile_log_passes: str | None = None
    """Print the decisions of passes to standard error: phases or passes, separated by commas, or all; changes neither code nor results."""
    interpret_max_bytes: int | None = None
    """Max bytes of live tensors; changes how programs run."""
    interpret_max_steps: int | None = None
    """Max number of scalar operations in one evaluation; changes how programs run."""
    interpret_max_call_depth: int | None = None
    """Max depth of the call stack; changes how programs run."""
    simplify_max_ops: int | None = None
    """Max number of operations after inlining; changes what is compiled."""
    simplify_max_fold_elements: int | None = None
    """Max number of elements of a constant that folding creates; changes what is compiled."""
    simplify_max_fold_steps: int | None = None
    """Max number of scalar operations to fold one op; changes what is compiled."""
    simplify_max_rewrites: int | None = None
    """Max number of rewrites of one operation and of its replacements; changes what is compiled."""
    communicate_cluster: str | None = None
    """Cluster for which collectives are divided and ordered; changes what is compiled."""
    communicate_combine_bytes: int | None = None
    """Bytes at which a combined collective takes no more tensors; changes what is compiled."""
    communicate_loops: bool | None = None
    """Move collectives out of loops and prefetch across iterations; changes what is compiled."""
    communicate_overlap: bool | None = None
    """Run computation while collectives are in progress; changes what is compiled."""
    communicate_overlap_memory: int | None = None
    """Max additional memory for overlap, in percent; changes what is compiled."""
    communicate_windows: str | None = None
    """Send collectives in pieces beside products: auto, always or never; changes what is compiled."""
    fuse_max_ops: int | None = None
    """Max number of operations in one fusion; changes what is compiled."""
    fuse_max_operands: int | None = None
    """Max number of inputs plus outputs of one fusion; changes what is compiled."""
    fuse_split_reduce_elements: int | None = None
    """Min number of reduced elements for a two-level reduction; changes what is compiled."""
    fuse_attention: bool | None = None
    """Compute attention without all scores in memory; changes what is compiled."""
    runtime_devices: int | None = None
    """CPU devices in this process; changes how programs run."""
    runtime_threads: int | None = None
    """Number of compute threads; 0 for one thread per core that this process may use; changes how programs run."""
    runtime_memory_limit: int | None = None
    """Max bytes of live buffers; 0 for nine tenths of the machine's memory; changes how programs run."""
    runtime_cache_bytes: int | None = None
    """Max bytes of freed memory that the allocator keeps for reuse; changes how programs run."""
    runtime_asynchronous: bool | None = None
    """Return from a launch before the program has run; changes how programs run."""
    runtime_inline_nanoseconds: int | None = None
    """Max estimated nanoseconds of a program that runs on the calling thread; changes how programs run."""
    runtime_max_in_flight: int | None = None
    """Max number of queued launches per device; changes how programs run."""
    runtime_prefault: bool | None = None
    """Touch all pages of new memory at allocation; changes how programs run."""
    runtime_tune: bool | None = None
    """Autotune each matrix product at its first use; changes how programs run."""
    runtime_tuning_file: str | None = None
    """File of measurements for autotuning; changes how programs run."""
    runtime_deterministic: bool | None = None
    """Choose only among candidates that compute the same bits; changes how programs run."""
    runtime_collective_timeout: int | None = None
    """Timeout of a collective, in seconds; changes how programs run."""
    runtime_between_hosts: str | None = None
    """Transport of collectives between hosts: best, tcp, ucx or mpi; changes how programs run."""
    runtime_mpi_library: str | None = None
    """MPI library for runtime.between-hosts=mpi; changes how programs run."""
    runtime_nccl_library: str | None = None
    """NCCL library for collectives between GPUs; changes how programs run."""
    runtime_flight_recorder: str | None = None
    """Folder of the flight recorder, which logs each rank's collectives: auto, off or a path; changes how programs run."""
    runtime_flight_recorder_entries: int | None = None
    """Number of collectives that the flight recorder keeps per device; changes how programs run."""
    runtime_silence_timeout: int | None = None
    """Heartbeat timeout of another process of the job, in milliseconds; changes how programs run."""
    trace_file: str | None = None
    """File for a timeline of compile phases, kernels, threads and memory; changes neither code nor results."""


NAMES = {
    "import_max_bytes": "import.max-bytes",
    "import_max_ops": "import.max-ops",
    "import_max_nesting": "import.max-nesting",
    "import_max_rank": "import.max-rank",
    "import_max_elements": "import.max-elements",
    "import_max_literal_bytes": "import.max-literal-bytes",
    "import_max_parts": "import.max-parts",
    "compile_target": "compile.target",
    "compile_processors": "compile.processors",
    "compile_gpu_accuracy": "compile.gpu-accuracy",
    "compile_dump_dir": "compile.dump-dir",
    "compile_verify": "compile.verify",
    "compile_max_seconds": "compile.max-seconds",
    "compile_max_memory": "compile.max-memory",
    "compile_cache_dir": "compile.cache-dir",
    "compile_cache_bytes": "compile.cache-bytes",
    "compile_verify_comm": "compile.verify-comm",
    "compile_remarks": "compile.remarks",
    "compile_log_passes": "compile.log-passes",
    "interpret_max_bytes": "interpret.max-bytes",
    "interpret_max_steps": "interpret.max-steps",
    "interpret_max_call_depth": "interpret.max-call-depth",
    "simplify_max_ops": "simplify.max-ops",
    "simplify_max_fold_elements": "simplify.max-fold-elements",
    "simplify_max_fold_steps": "simplify.max-fold-steps",
    "simplify_max_rewrites": "simplify.max-rewrites",
    "communicate_cluster": "communicate.cluster",
    "communicate_combine_bytes": "communicate.combine-bytes",
    "communicate_loops": "communicate.loops",
    "communicate_overlap": "communicate.overlap",
    "communicate_overlap_memory": "communicate.overlap-memory",
    "communicate_windows": "communicate.windows",
    "fuse_max_ops": "fuse.max-ops",
    "fuse_max_operands": "fuse.max-operands",
    "fuse_split_reduce_elements": "fuse.split-reduce-elements",
    "fuse_attention": "fuse.attention",
    "runtime_devices": "runtime.devices",
    "runtime_threads": "runtime.threads",
    "runtime_memory_limit": "runtime.memory-limit",
    "runtime_cache_bytes": "runtime.cache-bytes",
    "runtime_asynchronous": "runtime.asynchronous",
    "runtime_inline_nanoseconds": "runtime.inline-nanoseconds",
    "runtime_max_in_flight": "runtime.max-in-flight",
    "runtime_prefault": "runtime.prefault",
    "runtime_tune": "runtime.tune",
    "runtime_tuning_file": "runtime.tuning-file",
    "runtime_deterministic": "runtime.deterministic",
    "runtime_collective_timeout": "runtime.collective-timeout",
    "runtime_between_hosts": "runtime.between-hosts",
    "runtime_mpi_library": "runtime.mpi-library",
    "runtime_nccl_library": "runtime.nccl-library",
    "runtime_flight_recorder": "runtime.flight-recorder",
    "runtime_flight_recorder_entries": "runtime.flight-recorder-entries",
    "runtime_silence_timeout": "runtime.silence-timeout",
    "trace_file": "trace.file",
}
"""The dotted name of each field."""
