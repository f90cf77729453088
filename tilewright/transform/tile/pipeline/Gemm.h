// Gemm: what a matrix product costs in cycles with each tile that can be built, and the best of
// them.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_GEMM_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_GEMM_H

#include "tilewright/transform/tile/pipeline/Plan.h"

#include "llvm/ADT/StringMap.h"

#include <vector>

namespace tilewright::pipeline {

/// How a chip multiplies matrices: from registers of a warp, from shared memory into registers of
/// a group, or from shared memory into tensor memory.
enum class MatrixUnit { mmaSync, wgmma, tcgen05 };

/// What the cost needs to know of a chip. `target/nvptx/Chips.def` has the numbers and where they
/// come from; they arrive in `exec.target`. Cycles are those of the processors' clock.
struct Machine {
  std::string chip;
  int64_t processors = 1;
  Limits limits;
  MatrixUnit matrixUnit = MatrixUnit::mmaSync;
  /// Multiply-adds a cycle of one processor, by element type ("f16", "tf32", "f8", "s8", …).
  llvm::StringMap<int64_t> products;
  /// Cycles from the last matrix instruction to its result, and from a copy's start to its end.
  int64_t matrixLatency = 0, copyLatency = 0;
  int64_t sharedBytesPerCycle = 128;                    // of one processor
  int64_t l2BytesPerCycle = 0, memoryBytesPerCycle = 0; // of all processors
  /// CTAs of a cluster that copies can reach at once; 1 is no clusters.
  int64_t cluster = 1;
};

/// The machine as products from registers of a warp see it, which all chips have: what is rounded
/// on its way to the instruction (tf32) must be in registers.
Machine withWarpProducts(Machine machine);

/// `m`×`k` times `k`×`n`, `batch` times.
struct Gemm {
  int64_t m, n, k, batch = 1;
  std::string type = "f16"; // a key of Machine::products
  int64_t lhsBits = 16, rhsBits = 16, resultBits = 16;
  /// The left side is computed on its way: read from shared memory by the threads, in elements of
  /// `lhsBits`, and given to the instruction in registers, in elements of `rhsBits`.
  bool lhsInRegisters = false;
  /// Columns that a tile must be a multiple of: 64 where rows of 128 bytes along N are what is
  /// copied.
  int64_t columnStep = 8;
};

/// A tile that can be built, with what it costs.
struct GemmChoice {
  int64_t m = 0, n = 0, k = 0;
  /// CTAs that share the columns (along M) or the rows (along N) of their tiles.
  int64_t clusterM = 1, clusterN = 1;
  /// Tiles go down so many rows before they go on to the next column.
  int64_t raster = 1;
  PipelinePlan plan = {};
  int64_t tiles = 0, waves = 0;
  /// Cycles of the whole product, and of what it would take if only one thing were in the way.
  int64_t cycles = 0, computeCycles = 0, memoryCycles = 0;
  /// What part of the machine's products are of use: the tensor core's cycles that are needed over
  /// all that pass.
  double efficiency = 0;
  /// Why it is as fast as it is, in sentences.
  llvm::SmallVector<std::string> reasons = {};
};

/// Warps along M and along N, for products from registers. Each has one rectangle of the tile.
struct WarpGrid {
  int64_t m, n;
};
WarpGrid warpGrid(const GemmChoice &choice);

/// The loop of one tile as a problem for `planPipeline`. `choice` has its sizes and its cluster.
PipelineProblem gemmProblem(const Gemm &gemm, const Machine &machine, const GemmChoice &choice);

/// The tile with what it costs; nothing and a reason if it cannot be built. `choice` has its sizes
/// and its cluster.
std::optional<GemmChoice> costOfTile(const Gemm &gemm, const Machine &machine, GemmChoice choice,
                                     std::string &reason);

/// All tiles that can be built, fastest first. Empty if the machine has no products of this type.
std::vector<GemmChoice> rankTiles(const Gemm &gemm, const Machine &machine);

/// The first of them with its reasons, and how much slower the next different one is and why.
std::string explainChoice(const Gemm &gemm, const Machine &machine,
                          llvm::ArrayRef<GemmChoice> ranked);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_GEMM_H
