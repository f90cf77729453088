// The ops for engines that run by themselves: slots of memory that roles pass to each other, copies
// and matrix instructions.
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
  let summary = "A tile's place in shared or tensor memory.";
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
    /// Bytes that one CTA has of it.
    int64_t getBytes() const;
  }];
}

def Sm_ChannelType : TypeDef<Sm_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "A queue of slots, each of which has these buffers.";
  let parameters = (ins ArrayRefParameter<"::tilewright::sm::BufferType">:$buffers);
  let hasCustomAssemblyFormat = 1;
}

def Sm_ChannelOp : Sm_Op<"channel"> {
  let summary = "A bounded queue of slots between roles.";
  let description = [{
    `filled` of the `depth` slots are full at the start. One role fills, every role that takes sees
    every slot, and a slot is free when all of them have freed it. A channel may carry nothing: it is a turn then.

    ```mlir
    %in = sm.channel depth 4 : !sm.channel<!sm.buffer<…>, !sm.buffer<…>>
    ```
  }];
  let arguments = (ins I64Attr:$depth, DefaultValuedAttr<I64Attr, "0">:$filled);
  let results = (outs Sm_ChannelType:$result);
  let assemblyFormat = "`depth` $depth (`filled` $filled^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

class Sm_SlotOp<string mnemonic> : Sm_Op<mnemonic, [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins Sm_ChannelType:$channel);
  let results = (outs Variadic<Sm_BufferType>:$buffers);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def Sm_AcquireOp : Sm_SlotOp<"acquire"> {
  let summary = "Waits for a free slot and gives its buffers, to be filled.";
}

def Sm_TakeOp : Sm_SlotOp<"take"> {
  let summary = "Waits for the oldest full slot and gives its buffers, to be read.";
}

class Sm_PassOp<string mnemonic> : Sm_Op<mnemonic> {
  let arguments = (ins Sm_ChannelType:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def Sm_PublishOp : Sm_PassOp<"publish"> {
  let summary = "Passes the oldest acquired slot on, as soon as what this role started on it has landed.";
}

def Sm_FreeOp : Sm_PassOp<"free"> {
  let summary = "Gives the oldest taken slot back, as soon as what this role started on it has retired.";
  let description = [{
    How far it is behind `take` says how many matrix instructions stay in flight:
    ```mlir
    %x1:2 = sm.take %in
    %s1 = sm.mma wgmma %x1#0, %x1#1, %s0
    sm.free %in                       // the slot that %s0 read; %s1 goes on
    ```
  }];
}

def Sm_RoleOp : Sm_Op<"role", [NoRegionArguments, SingleBlockImplicitTerminator<"::tilewright::tile::YieldOp">]> {
  let summary = "A region that some of a kernel's warps run.";
  let description = [{
    Roles get the kernel's warps in the order in which they stand. `registers` are those of a thread. Tiles in
    it have layouts of its own warps.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warps, I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `warps` $warps `registers` $registers attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

/// A memref, a buffer or a tile.
def Sm_Place : AnyTypeOf<[AnyMemRef, Sm_BufferType, Sm_Tile]>;

def Sm_CopyOp : Sm_Op<"copy", [AttrSizedOperandSegments]> {
  let summary = "Moves a tile from one place to another, by a named engine.";
  let description = [{
    ```mlir
    sm.copy tma %a[%m, %k] to %x : memref<4096x4096xf16> to !sm.buffer<…>
    %r = sm.copy tmem %t[%zero, %c] : !sm.buffer<…> -> tensor<128x32xf32, #rows>
    ```
    Offsets are those of the tile in a memref, or of a part in a buffer. What lies outside a memref is
    read as zero and not written. With `transposed`, the buffer's two dimensions are the memref's last two in the other order.
    A memref of more dimensions than the buffer has one index in each of the first, or in each that `dims` does not name. A buffer that is replicated on the `cta` axis is written in all CTAs of its copies.
  }];
  let arguments = (ins Sm_EngineAttr:$engine, Sm_Place:$source, Variadic<Index>:$source_offsets,
                       Optional<AnyTypeOf<[AnyMemRef, Sm_BufferType]>>:$target, Variadic<Index>:$target_offsets,
                       UnitAttr:$transposed, OptionalAttr<DenseI64ArrayAttr>:$dims);
  let results = (outs Optional<Sm_Tile>:$result);
  let assemblyFormat = [{
    $engine $source (`[` $source_offsets^ `]`)? (`to` $target^ (`[` $target_offsets^ `]`)?)? (`transposed` $transposed^)? (`dims` $dims^)? attr-dict
    `:` type($source) (`to` type($target)^)? (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Sm_MmaOp : Sm_Op<"mma", [AttrSizedOperandSegments]> {
  let summary = "Multiplies two tiles and adds the product to an accumulator, asynchronously where the instruction is.";
  let description = [{
    `result[m, n] = acc[m, n] + sum over k of lhs[m, k] * rhs[k, n]`. Operands are buffers or tiles. The accumulator is a
    tile (without one it starts at zero) and the result too, which is ready where it is used; or it is a buffer `into`
    which the sum goes, taken as zero where `zero` is true.

    ```mlir
    %s = sm.mma wgmma %x, %y, %acc : !sm.buffer<…>, !sm.buffer<…> -> tensor<128x256xf32, #acc>
    sm.mma tcgen05 %x, %y into %t zero %fresh : !sm.buffer<…>, !sm.buffer<…>, !sm.buffer<…>
    ```
  }];
  let arguments = (ins Sm_AtomAttr:$atom, AnyTypeOf<[Sm_BufferType, Sm_Tile]>:$lhs, AnyTypeOf<[Sm_BufferType, Sm_Tile]>:$rhs,
                       Optional<Sm_Tile>:$acc, Optional<Sm_BufferType>:$into, Optional<I1>:$zero);
  let results = (outs Optional<Sm_Tile>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_SM_ENGINEOPS_TD
