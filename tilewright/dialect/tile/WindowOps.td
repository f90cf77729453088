#ifndef TILEWRIGHT_DIALECT_TILE_WINDOWOPS_TD
#define TILEWRIGHT_DIALECT_TILE_WINDOWOPS_TD

include "tilewright/dialect/tile/TileBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

/// A whole tensor whose first dimension is the rank, in the memory space "window" or "heap".
def Tile_Window : MemRefOf<[AnyType]>;

def Tile_RankOp : Tile_Op<"rank", [Pure]> {
  let summary = "The position of the device that runs the kernel among the devices that share a window.";
  let description = [{
    ```mlir
    %me = tile.rank %w : memref<8x4096xf32, "window">   // 0 to 7
    ```
  }];
  let arguments = (ins Tile_Window:$window);
  let results = (outs Index:$result);
  let assemblyFormat = "$window attr-dict `:` type($window)";
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until the same point of the grid has reached its barrier on every rank.";
  let description = [{
    What the point stored before its barrier, on any rank, is visible to the point after it, on every rank. Points of one rank do not wait for each other.

    Part `r` of `signals` has, for each point, one word that each rank writes (its number of barriers so far), and as many in which rank `r` counts its own.
    Counts only grow and continue with the next kernel, so words start as zero once and are never reset. All kernels that use the
    same `signals` run in the same order on all ranks. On the heap words have 64 bits, and the barrier does not wait for a `tile.put`: its flag tells that.

    ```mlir
    tile.barrier %s : memref<8x16x16xi32, "window">   // 8 ranks, 16 points, 2 * 8 words
    ```
  }];
  let arguments = (ins Tile_Window:$signals);
  let assemblyFormat = "$signals attr-dict `:` type($signals)";
  let hasVerifier = 1;
}

def Tile_EpochOp : Tile_Op<"epoch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "How many barriers this point has passed, in all kernels that used these signals.";
  let description = [{
    The same number on all ranks. Its parity chooses one of two buffers: a rank that has passed the next barrier knows that no rank reads the
    previous buffer any more.

    ```mlir
    %n = tile.epoch %s : memref<8x16x16xi32, "window">
    ```
  }];
  let arguments = (ins Tile_Window:$signals);
  let results = (outs Index:$result);
  let assemblyFormat = "$signals attr-dict `:` type($signals)";
  let hasVerifier = 1;
}

def Tile_SignalOp : Tile_Op<"signal", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Adds one to a flag of a rank, after everything that this point stored before.";
  let description = [{
    ```mlir
    tile.signal %f[%peer, %i] : memref<8x32x5xi32, "window">   // 8 ranks, 32 flags, for kernels of 4 points
    ```
    Word 0 of a flag counts its signals. The others count, for each point of the rank, the signals that the point has waited for.
  }];
  let arguments = (ins Tile_Window:$flags, Index:$rank, Index:$flag);
  let assemblyFormat = "$flags `[` $rank `,` $flag `]` attr-dict `:` type($flags)";
  let hasVerifier = 1;
}

def Tile_WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until a flag of this rank got `count` more signals than this point has waited for.";
  let description = [{
    What the signalling points stored before is then visible to this point.

    ```mlir
    tile.wait %f[%i] count 2 : memref<8x32x5xi32, "window">
    ```
  }];
  let arguments = (ins Tile_Window:$flags, Index:$flag, DefaultValuedAttr<I64Attr, "1">:$count);
  let assemblyFormat = "$flags `[` $flag `]` (`count` $count^)? attr-dict `:` type($flags)";
  let hasVerifier = 1;
}

def Tile_PutOp : Tile_Op<"put", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Copies consecutive elements of this rank's part to the part of a rank on any node, then adds one to a flag of that rank.";
  let description = [{
    `target[rank, target_offsets + i] = source[this rank, source_offsets + i]` for `count` consecutive elements, in row-major order. All three are on the
    symmetric heap. When the point goes on, it may overwrite the source; that the elements have arrived, only a `tile.wait` of the receiver tells.

    ```mlir
    tile.put %a[%i, %c0] count 2048, %b[%peer][%j, %c0], %f[%flag] : memref<8x64x64xf16, "heap">, memref<8x512x64xf16, "heap">, memref<8x32x5xi64, "heap">
    ```
    A target makes one call of NVSHMEM of it (`nvshmemx_putmem_signal_block`), in which all threads of the point take part.
  }];
  let arguments = (ins Tile_Window:$source, Variadic<Index>:$source_offsets, I64Attr:$count, Tile_Window:$target, Index:$rank,
                       Variadic<Index>:$target_offsets, Tile_Window:$flags, Index:$flag);
  let assemblyFormat = [{
    $source `[` $source_offsets `]` `count` $count `,` $target `[` $rank `]` `[` $target_offsets `]` `,` $flags `[` $flag `]` attr-dict `:`
    type($source) `,` type($target) `,` type($flags)
  }];
  let hasVerifier = 1;
}

def Tile_ReducePartsOp : Tile_Op<"reduce_parts", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads the same tile of all parts of a window, combined by the interconnect.";
  let description = [{
    `result[0, d…] = window[0, offset + d…] op window[1, offset + d…] op …`, in an order that the interconnect chooses, the same for all ranks. `kind` is
    `add`, `min`, `max`, `and`, `or` or `xor`; integers are combined as signed numbers unless `unsigned`. Sums of f16 and bf16 are accumulated in f32 and rounded once.
    All indices are inside the window.

    ```mlir
    %s = tile.reduce_parts add %w[%i] : memref<8x4096xf32, "window"> -> tensor<1x512xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Tile_Window:$window, Variadic<Index>:$offsets, UnitAttr:$is_unsigned);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    custom<Keyword>($kind) (`unsigned` $is_unsigned^)? $window `[` $offsets `]` attr-dict `:` type($window) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StorePartsOp : Tile_Op<"store_parts", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a tile to the same place of all parts of a window, by stores that the interconnect multiplies.";
  let description = [{
    `window[r, offset + d…] = tile[0, d…]` for all ranks `r`. All indices are inside the window.

    ```mlir
    tile.store_parts %t, %w[%i] : tensor<1x512xf32>, memref<8x4096xf32, "window">
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_Window:$window, Variadic<Index>:$offsets);
  let assemblyFormat = "$tile `,` $window `[` $offsets `]` attr-dict `:` type($tile) `,` type($window)";
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_TILE_WINDOWOPS_TD
