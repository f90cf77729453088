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
  let summary = "One multiprocessor: which thread holds what, and what moves it.";
  let description = [{
    A tile in registers is a tensor with a layout as its encoding, and the ops of `tile`
    work on such tensors unchanged. `sm` adds what `tile` cannot say: the machine that a
    kernel runs on and how tiles change their place.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def Sm_LayoutAttr : AttrDef<Sm_Dialect, "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "Where the elements of a tile are.";
  let description = [{
    For each dimension the digits of its index, most significant first, each with the axis
    of the hardware it is sent to and its stride there (1 if it is not written); then the
    digits of the hardware that hold copies, the bits that flip others, and padding.

    ```mlir
    // The accumulator of a 16x8 matrix instruction, two of them side by side in each of four warps.
    #acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
    // 64 rows of 64 f16 in shared memory as TMA writes them with a swizzle of 128 bytes.
    #swizzled = #sm.layout<[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
    ```

    `Layout.h` has what can be done with it.
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
  let summary = "A tile.kernel for a machine: every tile has a layout.";
  let description = [{
    The body, its arguments and its meaning are those of `tile.kernel`; a point of the grid is run by
    `warps` warps in each CTA of a cluster of `cluster` CTAs. A `persistent` kernel ("static") has as many clusters as the
    chip holds at once, and each runs the body for one point after another; points go down `raster` rows of the grid before the next column.
    A body with roles has channels, scalars and roles, and nothing else that acts.

    Every tile in the body has a layout whose lanes, warps and CTAs are the kernel's. No op
    moves elements between threads but those that say so:
    - `map`, `gather` and what `scf.for` carries: operands and results have one layout;
    - `view`: each thread holds the elements of the source that it needs, in registers that are the same
      for all threads (`registersOfView`);
    - `reduce`, `scan`: one layout of the inputs; a reduction's result has `Layout::reduce` of it;
    - `copy` and `mma` have the layouts of their engines;
    - `convert` (which also does the views that cannot be done like this), and the threads of a reduction among themselves,
      exchange elements.

    ```mlir
    sm.kernel @add grid [16] inputs 2 warps 4 {
    ^bb0(%i: index, %x: memref<16x512xf32>, %y: memref<16x512xf32>, %out: memref<16x512xf32>): …
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$grid, I64Attr:$num_inputs, I64Attr:$warps,
                       OptionalAttr<DenseI64ArrayAttr>:$cluster, OptionalAttr<StrAttr>:$persistent,
                       OptionalAttr<I64Attr>:$raster);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `grid` $grid `inputs` $num_inputs `warps` $warps (`cluster` $cluster^)?
    (`persistent` $persistent^)? (`raster` $raster^)? attr-dict-with-keyword $body
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
    /// CTAs of the cluster along x, y and z; 1 each if nothing is said.
    ::std::array<int64_t, 3> getClusterSizes();
  }];
}

def Sm_ConvertOp : Sm_Op<"convert", [Pure]> {
  let summary = "The same tile in another layout, or its elements in another arrangement.";
  let description = [{
    ```mlir
    %b = sm.convert %a : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    %r = sm.convert %a map affine_map<(i, j) -> (i, 63 - j)> : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #rows>
    ```
    What it costs follows from the two layouts: nothing where registers are only numbered
    differently, shuffles where elements stay in their warp, else a round trip through shared memory.

    With a `map` it is a `tile.view` whose elements move between threads, `result[d…] = source[map(d…)]`: for maps that no
    layouts can follow (a reverse, a slice at an odd place). It goes through shared memory: the source is written there, and
    each thread reads at the index that the map gives.
  }];
  let arguments = (ins Sm_Tile:$source, OptionalAttr<AffineMapAttr>:$map);
  let results = (outs Sm_Tile:$result);
  let assemblyFormat = "$source (`map` $map^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

include "tilewright/dialect/sm/EngineOps.td"

#endif // TILEWRIGHT_DIALECT_SM_SMOPS_TD
