#ifndef TILEWRIGHT_DIALECT_TILE_TILEBASE_TD
#define TILEWRIGHT_DIALECT_TILE_TILEBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilewright::tile";
  let summary = "Kernels as programs over tiles, which are values without threads, memory spaces or layouts.";
  let description = [{
    A kernel runs its body once for each point of a grid. The body loads tiles
    from whole tensors (row-major memref arguments), computes with tiles as values
    (tensors of static shape), and stores tiles. Loops are `scf.for` with tiles as
    iteration arguments; indices are computed with `arith` and `affine.apply`. Element
    computations are `arith`, `math` and `complex` ops on scalars in the region of
    `tile.map`; StableHLO's semantics are explicit in them.

    Integer types are signless: `ui8` of the input is `i8` here, and ops that depend on
    the signedness (division, comparison, conversion) are explicit in the regions. A
    scalar that a kernel reads from memory is a tile of rank 0, read by
    `tensor.extract %t[]`.

    A kernel's memrefs may have other shapes than the tensors that are passed to it, with
    the same number of elements: memory is row-major, so a reshape of a whole tensor is
    free, and a kernel can merge dimensions that it treats alike.
  }];
}

/// A tile: a tensor of static shape.
def Tile_Tile : StaticShapeTensorOf<[AnyType]>;
/// A whole tensor in memory.
def Tile_Whole : MemRefOf<[AnyType]>;

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif // TILEWRIGHT_DIALECT_TILE_TILEBASE_TD
