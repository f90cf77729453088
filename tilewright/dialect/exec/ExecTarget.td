// The description of the machine that a module is compiled for, which the stages read.
#ifndef TILEWRIGHT_DIALECT_EXEC_EXECTARGET_TD
#define TILEWRIGHT_DIALECT_EXEC_EXECTARGET_TD

include "tilewright/dialect/exec/ExecBase.td"

include "mlir/IR/EnumAttr.td"

def Exec_MatrixUnit : I32EnumAttr<"MatrixUnit", "how a chip multiplies matrices", [
  // Operands in registers of a warp.
  I32EnumAttrCase<"mma", 0>,
  // Operands in shared memory, accumulator in registers of a warpgroup.
  I32EnumAttrCase<"wgmma", 1>,
  // Operands in shared memory, accumulator in tensor memory.
  I32EnumAttrCase<"tcgen05", 2>]> {
  let cppNamespace = "::tilewright::exec";
  let genSpecializedAttr = 0;
}

// A number that a target may omit.
class Number<int value> : DefaultValuedParameter<"int64_t", !cast<string>(value)>;

def Exec_CpuAttr : Exec_Attr<"Cpu", "cpu"> {
  let summary = "A core of a CPU.";
  let parameters = (ins Number<32>:$vector_bytes, Number<32768>:$l1_bytes);
}

def Exec_GpuAttr : Exec_Attr<"Gpu", "gpu"> {
  let summary = "A multiprocessor of a GPU.";
  let description = [{
    `registers` is the number of registers of a multiprocessor, and `max_registers` the maximum of a
    thread. `max_threads` and `shared_bytes` are the maximum of a block. A memory transaction moves
    `sector_bytes`.
  }];
  let parameters = (ins Number<32>:$warp_size, Number<1024>:$max_threads, Number<65536>:$registers,
                        Number<255>:$max_registers, Number<49152>:$shared_bytes,
                        Number<32>:$sector_bytes);
}

def Exec_MatrixAttr : Exec_Attr<"Matrix", "matrix"> {
  let summary = "The matrix instructions of a chip.";
  let description = [{
    `types` are the element types that some instruction multiplies, for example `[f16, tf32, i8]`.
    `registers_move` states that warps can transfer registers to each other (`setmaxnreg`);
    `tensor_columns` is the number of columns of tensor memory, 0 for chips without it.
  }];
  let parameters = (ins DefaultValuedParameter<"MatrixUnit", "MatrixUnit::mma">:$unit,
                        OptionalParameter<"::mlir::ArrayAttr">:$types,
                        DefaultValuedParameter<"bool", "false">:$registers_move,
                        Number<0>:$tensor_columns);
  let extraClassDeclaration = [{
    /// Whether some instruction multiplies elements of this type.
    bool takes(::mlir::Type type) const;
  }];
  let genVerifyDecl = 1;
}

def Exec_RatesAttr : Exec_Attr<"Rates", "rates"> {
  let summary = "The inputs of cost models: rates and latencies in cycles of the multiprocessors' clock.";
  let description = [{
    `f16` (also bf16), `tf32`, `f8`, `s8` and `f4` are multiply-adds per cycle and multiprocessor;
    0 if the chip has no such instruction. `matrix_latency` is the time from the last matrix
    instruction to its result, `copy_latency` that of a copy. `shared_bytes_per_cycle` is per
    multiprocessor, the other rates are those of the chip. `cluster` is the number of blocks that a
    multicast copy can reach; 1 means no clusters.
  }];
  let parameters = (ins Number<0>:$f16, Number<0>:$tf32, Number<0>:$f8, Number<0>:$s8, Number<0>:$f4,
                        Number<0>:$matrix_latency, Number<0>:$copy_latency,
                        Number<128>:$shared_bytes_per_cycle, Number<1>:$l2_bytes_per_cycle,
                        Number<1>:$memory_bytes_per_cycle, Number<0>:$l2_bytes, Number<1>:$cluster);
}

def Exec_TargetAttr : Exec_Attr<"Target", "target"> {
  let summary = "The machine that a module is compiled for.";
  let description = [{
    Targets set it on the module as `exec.target` (passes `cpu-attach-target`, `nvptx-attach-target`);
    stages read it with `exec::targetOf`. `units` are the cores of a CPU or the multiprocessors of a
    GPU. Computations of fewer than `min_parallel_items` elements are not divided among units. A unit holds
    `tile_elements` elements of a tile at once and processes larger tiles in a loop; 0 means no limit.

    ```mlir
    module attributes {exec.target = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>,
        matrix = <unit = wgmma, types = [f16, tf32]>, rates = <f16 = 2048, tf32 = 1024>>} { … }
    ```
  }];
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$chip, Number<4>:$units,
                        Number<16384>:$min_parallel_items, Number<0>:$tile_elements,
                        OptionalParameter<"CpuAttr">:$cpu, OptionalParameter<"GpuAttr">:$gpu,
                        OptionalParameter<"MatrixAttr">:$matrix, OptionalParameter<"RatesAttr">:$rates);
  let extraClassDeclaration = [{
    bool isGpu() const { return static_cast<bool>(getGpu()); }
    /// The chip's name; empty if the target is not a particular chip.
    ::llvm::StringRef chipName() const { return getChip() ? getChip().getValue() : ::llvm::StringRef(); }
  }];
  let builders = [
    // The default CPU.
    AttrBuilder<(ins), [{
      return $_get($_ctxt, ::mlir::StringAttr(), 4, 16384, 0, CpuAttr(), GpuAttr(), MatrixAttr(), RatesAttr());
    }]>,
    AttrBuilder<(ins "::llvm::StringRef":$chip, "int64_t":$cores, "CpuAttr":$cpu), [{
      return $_get($_ctxt, ::mlir::StringAttr::get($_ctxt, chip), cores, 16384, 0, cpu, GpuAttr(), MatrixAttr(),
                   RatesAttr());
    }]>,
    AttrBuilder<(ins "::llvm::StringRef":$chip, "int64_t":$processors, "int64_t":$tileElements, "GpuAttr":$gpu,
                     "MatrixAttr":$matrix, "RatesAttr":$rates), [{
      return $_get($_ctxt, ::mlir::StringAttr::get($_ctxt, chip), processors, 16384, tileElements, CpuAttr(), gpu,
                   matrix, rates);
    }]>];
  let genVerifyDecl = 1;
}

#endif // TILEWRIGHT_DIALECT_EXEC_EXECTARGET_TD
