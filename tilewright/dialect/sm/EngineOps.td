// The ops for asynchronous engines: channels (queues of memory slots between roles), copies and
// matrix instructions.
#ifndef TILEWRIGHT_DIALECT_SM_ENGINEOPS_TD
#define TILEWRIGHT_DIALECT_SM_ENGINEOPS_TD

include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Sm_Space : I32EnumAttr<"Space", "A memory of a multiprocessor.", [
    I32EnumAttrCase<"shared", 0>, I32EnumAttrCase<"tensor", 1>]> {
  let cppNamespace = "::tilewright::sm";
}

def Sm_Engine : I32EnumAttr<"Engine", "What moves a tile.", [
    I32EnumAttrCase<"tma", 0>, I32EnumAttrCase<"cp_async", 1>, I32EnumAttrCase<"ldmatrix", 2>,
    I32EnumAttrCase<"stmatrix", 3>, I32EnumAttrCase<"ld", 4>, I32EnumAttrCase<"st", 5>,
    I32EnumAttrCase<"tmem", 6>, I32EnumAttrCase<"tcgen05_cp", 7>]> {
  let cppNamespace = "::tilewright::sm";
  let genSpecializedAttr = 0;
}
def Sm_EngineAttr : EnumAttr<Sm_Dialect, Sm_Engine, "engine">;

def Sm_Atom : I32EnumAttr<"Atom", "A kind of matrix instruction.", [
    I32EnumAttrCase<"mma_sync", 0>, I32EnumAttrCase<"wgmma", 1>, I32EnumAttrCase<"tcgen05", 2>]> {
  let cppNamespace = "::tilewright::sm";
  let genSpecializedAttr = 0;
}
def Sm_AtomAttr : EnumAttr<Sm_Dialect, Sm_Atom, "atom">;

def Sm_BufferType : TypeDef<Sm_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "The memory of a tile in shared or tensor memory.";
  let description = [{
    ```mlir
    !sm.buffer<128x64xf16, shared, <[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        EnumParameter<Sm_Space>:$space, "::tilewright::sm::LayoutAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The size of a CTA's part of the buffer in bytes.
    int64_t getBytes() const;
  }];
}

def Sm_ChannelType : TypeDef<Sm_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "A queue of slots that consist of these buffers.";
  let parameters = (ins ArrayRefParameter<"::tilewright::sm::BufferType">:$buffers);
  let hasCustomAssemblyFormat = 1;
}

def Sm_ChannelOp : Sm_Op<"channel"> {
  let summary = "A bounded queue of slots between roles.";
  let description = [{
    `filled` of the `depth` slots are full at the start. One role fills slots. Each role that takes from the
    channel sees every slot, and a slot is free when all of these roles have freed it.

    The slot of a channel without buffers is a turn. The warpgroups of one role take it one after the other: the slot that one of them frees is the next
    one's to take. Buffers of one element pass a number: one thread writes it (`sm.copy st`), and a role of one thread reads it (`sm.copy ld`).

    With `parts`, there are as many channels of this type, one for each warpgroup of a role: its slot ops are those of the part that
    belongs to the warpgroup. The role at the other end names the part. So one warpgroup can compute while products run for another one.

    ```mlir
    %in = sm.channel depth 4 : !sm.channel<!sm.buffer<…>, !sm.buffer<…>>
    %scores = sm.channel depth 1 parts 2 : !sm.channel<!sm.buffer<128x128xf32, tensor, …>>
    ```
  }];
  let arguments = (ins I64Attr:$depth, DefaultValuedAttr<I64Attr, "0">:$filled, DefaultValuedAttr<I64Attr, "1">:$parts);
  let results = (outs Sm_ChannelType:$result);
  let assemblyFormat = "`depth` $depth (`filled` $filled^)? (`parts` $parts^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

class Sm_SlotOp<string mnemonic> : Sm_Op<mnemonic, [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  /// The part of a channel with parts; -1 if it is that of the warpgroup.
  let arguments = (ins Sm_ChannelType:$channel, DefaultValuedAttr<I64Attr, "-1">:$part);
  let results = (outs Variadic<Sm_BufferType>:$buffers);
  let assemblyFormat = "$channel (`part` $part^)? attr-dict `:` type($channel)";
}

def Sm_AcquireOp : Sm_SlotOp<"acquire"> {
  let summary = "Waits for a free slot and returns its buffers, to be filled.";
}

def Sm_TakeOp : Sm_SlotOp<"take"> {
  let summary = "Waits for the oldest full slot and returns its buffers, to be read.";
}

class Sm_PassOp<string mnemonic> : Sm_Op<mnemonic> {
  let arguments = (ins Sm_ChannelType:$channel, DefaultValuedAttr<I64Attr, "-1">:$part);
  let assemblyFormat = "$channel (`part` $part^)? attr-dict `:` type($channel)";
}

def Sm_PublishOp : Sm_PassOp<"publish"> {
  let summary = "Marks the oldest acquired slot as full once the operations that this role started on it are complete.";
}

def Sm_FreeOp : Sm_PassOp<"free"> {
  let summary = "Marks the oldest taken slot as free once the operations that this role started on it are complete.";
  let description = [{
    Its distance from `take` determines how many matrix instructions stay in flight:
    ```mlir
    %x1:2 = sm.take %in
    %s1 = sm.mma wgmma %x1#0, %x1#1, %s0
    sm.free %in                       // the slot that %s0 read; %s1 is still in flight
    ```
  }];
}

def Sm_ScaleOp : Sm_Op<"scale"> {
  let summary = "Multiplies the rows of a buffer in tensor memory by factors.";
  let description = [{
    `buffer[m, n] *= factors[m]`. A warp all of whose factors are 1 does nothing. The slot of the buffer must be published before another role reads it.

    ```mlir
    sm.scale %sums by %factors : !sm.buffer<128x64xf32, tensor, …>, tensor<128xf32, #rows>
    ```
  }];
  let arguments = (ins Sm_BufferType:$buffer, Sm_Tile:$factors);
  let assemblyFormat = "$buffer `by` $factors attr-dict `:` type($buffer) `,` type($factors)";
  let hasVerifier = 1;
}

def Sm_RoleOp : Sm_Op<"role", [NoRegionArguments, SingleBlockImplicitTerminator<"::tilewright::tile::YieldOp">]> {
  let summary = "A region that some warps of a kernel execute.";
  let description = [{
    The kernel's warps are assigned to its roles in program order. `registers` is the number of registers of
    each thread. The layouts of tiles in a role refer to the role's own warps.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warps, I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `warps` $warps `registers` $registers attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

/// A memref, a buffer or a tile.
def Sm_Place : AnyTypeOf<[AnyMemRef, Sm_BufferType, Sm_Tile]>;

def Sm_CopyOp : Sm_Op<"copy", [AttrSizedOperandSegments]> {
  let summary = "Copies a tile between memories or registers with the given engine.";
  let description = [{
    ```mlir
    sm.copy tma %a[%m, %k] to %x : memref<4096x4096xf16> to !sm.buffer<…>
    %r = sm.copy tmem %t[%zero, %c] : !sm.buffer<…> -> tensor<128x32xf32, #rows>
    ```
    With `st`, threads write a whole slot from registers, which the matrix unit reads for another role, or a single element.
    A buffer in tensor memory of a channel with parts has the rows of one warpgroup, and the tile those of all warpgroups of the role.

    Offsets are those of the tile in a memref, or of a part of a buffer. Elements outside of a memref are
    read as zero and not written. With `transposed`, the buffer's two dimensions are the last two dimensions of the
    memref, swapped. With `tf32`, f32 elements are rounded on the way to the nearest value with 10 bits of mantissa, ties either
    way; only the copy engine does this, and only while it loads. If a memref has more dimensions than the buffer, the copy uses a single index in each of the leading
    dimensions, or in each dimension that is not in `dims`. A buffer that is replicated on the `cta` axis is written in all
    CTAs that hold a copy.

    With `box`, the rows of the buffer go through several dimensions of memory: row `r` is the row-major index `r` into all sizes of `box` but
    the last, along the dimensions `dims`, every `strides`-th element of each (1 if absent). The last of `dims` is the contiguous one, along which the
    columns go. The sizes are those of the buffer's layout. So 128 rows are 8x8 positions of two images, every second one in
    each direction:
    ```mlir
    sm.copy tma %x[%n, %h, %w, %c] to %b dims [0, 1, 2, 3] box [2, 8, 8, 64] strides [1, 2, 2, 1] : memref<16x56x56x256xf16> to !sm.buffer<128x64xf16, …>
    ```
  }];
  let arguments = (ins Sm_EngineAttr:$engine, Sm_Place:$source, Variadic<Index>:$source_offsets,
                       Optional<AnyTypeOf<[AnyMemRef, Sm_BufferType]>>:$target, Variadic<Index>:$target_offsets,
                       UnitAttr:$transposed, OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<DenseI64ArrayAttr>:$box,
                       OptionalAttr<DenseI64ArrayAttr>:$strides, UnitAttr:$tf32);
  let results = (outs Optional<Sm_Tile>:$result);
  let assemblyFormat = [{
    $engine $source (`[` $source_offsets^ `]`)? (`to` $target^ (`[` $target_offsets^ `]`)?)? (`transposed` $transposed^)? (`tf32` $tf32^)? (`dims` $dims^)? (`box` $box^)? (`strides` $strides^)? attr-dict
    `:` type($source) (`to` type($target)^)? (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::tilewright::sm::Engine":$engine, "::mlir::Value":$source,
                   "::mlir::ValueRange":$sourceOffsets, "::mlir::Value":$target, "::mlir::ValueRange":$targetOffsets,
                   "bool":$transposed, "::mlir::DenseI64ArrayAttr":$dims, CArg<"bool", "false">:$tf32),
              [{
                build($_builder, $_state, result, engine, source, sourceOffsets, target, targetOffsets, transposed, dims,
                      ::mlir::DenseI64ArrayAttr(), ::mlir::DenseI64ArrayAttr(), tf32);
              }]>
  ];
  let extraClassDeclaration = [{
    /// A dimension of memory along which a copied buffer has rows: `size` of them, every `stride`-th element.
    struct RowDim {
      int64_t dim, size, stride;
    };
    /// The dimensions of the rows, outermost first, of a copy between a memref and a buffer of rank 2.
    ::llvm::SmallVector<RowDim> getRowDims();
  }];
}

def Sm_MmaOp : Sm_Op<"mma", [AttrSizedOperandSegments]> {
  let summary = "Multiplies two tiles and adds the product to an accumulator; asynchronous if the instruction is.";
  let description = [{
    `result[m, n] = acc[m, n] + sum over k of lhs[m, k] * rhs[k, n]`. Operands are buffers or tiles. Either the
    accumulator and the result are tiles (zero if no accumulator is given), and uses of the result wait for it; or the
    sum is accumulated in the buffer `into`, which is treated as zero if `zero` is true. Operands of f32 are multiplied as
    tf32: `mma_sync` rounds them in registers, and `wgmma` ignores all but the upper 19 bits of a word, so copies to its
    buffers must have rounded them (`sm.copy … tf32`).

    ```mlir
    %s = sm.mma wgmma %x, %y, %acc : !sm.buffer<…>, !sm.buffer<…> -> tensor<128x256xf32, #acc>
    sm.mma tcgen05 %x, %y into %t zero %fresh : !sm.buffer<…>, !sm.buffer<…>, !sm.buffer<…>
    ```

    With scales, operands and scales are bytes as in `tile.dot … block`; scales have lines of 128 bytes, four for each group of 128
    rows and 4 blocks. They are buffers for `tcgen05`. For `mma_sync` they are tiles of one group, in which lane `4 i + q` has rows `8 q + i`
    of every 32; the operands begin at block `first_block` of the group's four. `wgmma` has no scales.

    ```mlir
    sm.mma tcgen05 %x, %y into %t zero %fresh scales %sx, %sy {block = 32, lhs_type = f8E4M3FN, …}
      : !sm.buffer<…>, !sm.buffer<…>, !sm.buffer<…>, !sm.buffer<…>, !sm.buffer<…>
    ```
  }];
  let arguments = (ins Sm_AtomAttr:$atom, AnyTypeOf<[Sm_BufferType, Sm_Tile]>:$lhs, AnyTypeOf<[Sm_BufferType, Sm_Tile]>:$rhs,
                       Optional<Sm_Tile>:$acc, Optional<Sm_BufferType>:$into, Optional<I1>:$zero,
                       Optional<AnyTypeOf<[Sm_BufferType, Sm_Tile]>>:$lhs_scale,
                       Optional<AnyTypeOf<[Sm_BufferType, Sm_Tile]>>:$rhs_scale,
                       OptionalAttr<TypeAttr>:$lhs_type, OptionalAttr<TypeAttr>:$rhs_type,
                       OptionalAttr<TypeAttr>:$scale_type, OptionalAttr<I64Attr>:$block,
                       OptionalAttr<I64Attr>:$first_block);
  let results = (outs Optional<Sm_Tile>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::tilewright::sm::Atom":$atom, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::mlir::Value":$acc, "::mlir::Value":$into, "::mlir::Value":$zero),
              [{
                build($_builder, $_state, result, atom, lhs, rhs, acc, into, zero, ::mlir::Value(), ::mlir::Value(),
                      ::mlir::TypeAttr(), ::mlir::TypeAttr(), ::mlir::TypeAttr(), ::mlir::IntegerAttr(), ::mlir::IntegerAttr());
              }]>
  ];
}

#endif // TILEWRIGHT_DIALECT_SM_ENGINEOPS_TD
