#ifndef TILEWRIGHT_DIALECT_SM_SMOPS_TD
#define TILEWRIGHT_DIALECT_SM_SMOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Sm_Dialect : Dialect {
  let name = "sm";
  let cppNamespace = "::tilewright::sm";
  let summary = "Kernels of a multiprocessor: the layouts of tiles in threads and memory, and the ops that move tiles.";
  let description = [{
    A tile in registers is a tensor with a layout as its encoding, and the ops of `tile`
    work on such tensors unchanged. `sm` adds what `tile` cannot express: the warps and
    clusters that run a kernel, and the copies and conversions of tiles.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::tilewright::tile::TileDialect"];
  let extraClassDeclaration = [{
  private:
    void registerOps();
  }];
}

def Sm_LayoutAttr : AttrDef<Sm_Dialect, "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "The positions of the elements of a tile.";
  let description = [{
    For each dimension, the digits of its index, most significant first, each with the hardware
    axis that it maps to and its stride on that axis (1 if omitted); then the hardware digits
    that hold copies, the bits that flip other bits (a swizzle), and padding.

    ```mlir
    // The accumulator of a 16x8 matrix instruction, two of them side by side in each of four warps.
    #acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
    // 64 rows of 64 f16 in shared memory as TMA writes them with a swizzle of 128 bytes.
    #swizzled = #sm.layout<[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
    ```

    `Layout.h` defines the operations on layouts.
  }];
  let parameters = (ins AttrParameter<"::tilewright::sm::Layout", "the layout">:$value);
  let hasCustomAssemblyFormat = 1;
  let genMnemonicAlias = 1;
}

class Sm_Op<string mnemonic, list<Trait> traits = []> : Op<Sm_Dialect, mnemonic, traits>;

/// A tile with a layout.
def Sm_Tile : StaticShapeTensorOf<[AnyType]>;

def Sm_KernelOp : Sm_Op<"kernel", [IsolatedFromAbove, Symbol, AutomaticAllocationScope,
    SingleBlockImplicitTerminator<"::tilewright::tile::YieldOp">]> {
  let summary = "A tile.kernel for a machine, in which every tile has a layout.";
  let description = [{
    The body, its arguments and its semantics are those of `tile.kernel`. A cluster of `cluster` CTAs with `warps`
    warps each executes one point of the grid. A `persistent` kernel ("static") has as many clusters as the chip can hold
    at once, and each cluster executes the body for several points. If it is "stealing", it has a cluster for each point,
    and a cluster that is done executes the points of clusters that have not started. With `raster`, points advance down `raster` rows of
    the grid before the next column. A body with roles contains only channels, roles and ops without side effects.

    Every tile in the body has a layout with the lanes, warps and CTAs of the kernel. No op moves
    elements between threads, except as listed:
    - `map`, `gather`, `scatter` and the iteration arguments of `scf.for`: operands and results have the same layout;
    - `view`: each thread holds the elements of the source that it needs, in the same registers in all
      threads (`registersOfView`);
    - `reduce`, `scan`: the inputs have the same layout; the result of a reduction has the layout `Layout::reduce`;
    - `copy` and `mma` have the layouts of their engines;
    - `convert`, which also implements views that do not satisfy the rule above, and the threads of a reduction
      exchange elements.

    ```mlir
    sm.kernel @add grid [16] inputs 2 warps 4 {
    ^bb0(%i: index, %x: memref<16x512xf32>, %y: memref<16x512xf32>, %out: memref<16x512xf32>): …
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$grid, I64Attr:$num_inputs, I64Attr:$warps,
                       OptionalAttr<DenseI64ArrayAttr>:$cluster, OptionalAttr<StrAttr>:$persistent,
                       OptionalAttr<I64Attr>:$raster, OptionalAttr<DenseI64ArrayAttr>:$updates);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `grid` $grid `inputs` $num_inputs `warps` $warps (`cluster` $cluster^)?
    (`persistent` $persistent^)? (`raster` $raster^)? (`updates` $updates^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::Block::BlockArgListType getCoordinates() {
      return getBlock().getArguments().take_front(getGrid().size());
    }
    ::mlir::Block::BlockArgListType getInputs() {
      return getBlock().getArguments().slice(getGrid().size(), getNumInputs());
    }
    ::mlir::Block::BlockArgListType getOutputs() {
      return getBlock().getArguments().drop_front(getGrid().size() + getNumInputs());
    }
    /// The product of the grid's sizes.
    int64_t getPointCount();
    /// The cluster's sizes along x, y and z; 1 each if `cluster` is absent.
    ::std::array<int64_t, 3> getClusterSizes();
  }];
}

def Sm_ConvertOp : Sm_Op<"convert", [Pure]> {
  let summary = "Converts a tile to another layout, or rearranges its elements.";
  let description = [{
    ```mlir
    %b = sm.convert %a : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    %r = sm.convert %a map affine_map<(i, j) -> (i, 63 - j)> : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #rows>
    ```
    The cost depends on the two layouts: none if registers are only renumbered, shuffles if elements stay in their
    warp, otherwise a round trip through shared memory.

    With a `map` it is a `tile.view` whose elements move between threads, `result[d…] = source[map(d…)]`. It is used for
    maps that no layout can follow (a reverse, a slice that does not begin at a multiple of its size). The source is
    written to shared memory, and each thread reads at the index that the map returns.
  }];
  let arguments = (ins Sm_Tile:$source, OptionalAttr<AffineMapAttr>:$map);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source (`map` $map^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

include "tilewright/dialect/sm/EngineOps.td"

#endif // TILEWRIGHT_DIALECT_SM_SMOPS_TD
