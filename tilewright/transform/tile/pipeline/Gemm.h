// Gemm: the cost of a matmul in cycles for each feasible tile, and the best tile.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_GEMM_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_GEMM_H

#include "tilewright/dialect/exec/ExecEnums.h"
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/transform/tile/pipeline/Plan.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace tilewright::pipeline {

using exec::MatrixUnit;

/// Chip parameters of the cost model. `chips/NvidiaRates.def` has the numbers and their sources;
/// they are passed in `exec.target`. Cycles are those of the multiprocessors' clock.
struct Machine {
  std::string chip;
  int64_t processors = 1;
  Limits limits;
  MatrixUnit matrixUnit = MatrixUnit::mma;
  /// Whether copies of threads go past their registers (cp.async, loads to LDS). Else the loads of
  /// a slot are in registers until the slot is needed.
  bool copiesToShared = true;
  /// Multiply-adds per cycle and multiprocessor, by element type ("f16", "tf32", "f8", "s8", …).
  llvm::StringMap<int64_t> products;
  /// Those of these types that the chip multiplies only with mma.sync.
  llvm::StringSet<> warpTypes;
  /// Cycles from the last matrix instruction to its result, and from the start of a copy to its
  /// end.
  int64_t matrixLatency = 0, copyLatency = 0;
  int64_t sharedBytesPerCycle = 128;                    // of one multiprocessor
  int64_t l2BytesPerCycle = 0, memoryBytesPerCycle = 0; // of the whole chip
  int64_t l2Bytes = 0;
  /// The number of CTAs in a cluster that a multicast copy can reach; 1 means no clusters.
  int64_t cluster = 1;
};

/// Whether warps multiply with AMD's MFMA, which has other fragments than mma.sync.
inline bool hasMfma(const Machine &machine) { return machine.limits.warpSize == 64; }

/// The machine if products use mma.sync, which all chips have. tf32 products need it if an operand
/// is not contiguous along K or has a prologue, because it is then rounded in registers.
Machine withWarpProducts(Machine machine);

/// A product of `m`×`k` and `k`×`n` matrices, `batch` times.
struct Gemm {
  int64_t m, n, k, batch = 1;
  std::string type = "f16"; // a key of Machine::products
  int64_t lhsBits = 16, rhsBits = 16, resultBits = 16;
  /// The bytes of scales for each row of lhs (column of rhs) and iteration; 0 without scales.
  int64_t scaleBytes = 0;
  /// Whether the left operand has a prologue: threads read it from shared memory, in elements of
  /// `lhsBits`, and pass it to the instruction in elements of `rhsBits`: in registers, or in tensor
  /// memory.
  bool lhsIsComputed = false;
  /// Whether the right operand has a prologue, too (wgmma): a role of its own reads it from shared
  /// memory, in elements of `rhsBits`, and writes it to shared memory in elements of
  /// `computedBits`, as the instruction reads it.
  bool rhsIsComputed = false;
  int64_t computedBits = 16;
  /// The number of columns of a tile must be a multiple of this, for example 64 if the copy engine
  /// copies rows of 128 bytes along N.
  int64_t columnStep = 8;
  /// Which of N and M varies fastest in the order of the grid's points; `fixed` if rastering cannot
  /// change the order.
  enum class Order { alongN, alongM, fixed } order = Order::alongN;
  /// Whether tiles of the result may be staged in shared memory and stored by the copy engine. This
  /// requires 16-bit elements, rows that the engine supports, and the layout of the accumulator.
  bool canStage = false;
  /// The depth of the matrices in memory, if `k` is rounded up to whole tiles; else 0.
  int64_t depthInMemory = 0;
  /// The user's requests; other tiles are not feasible.
  exec::Hint hint = {};
};

/// The width of an element of the right operand where the instruction reads it.
inline int64_t multipliedBits(const Gemm &gemm) {
  return gemm.rhsIsComputed ? gemm.computedBits : gemm.rhsBits;
}

/// The work of the whole kernel. test/gpu/test_candidates.py compares it with what the virtual GPU
/// counts.
struct KernelCounts {
  int64_t multiplyAdds = 0; // those beyond the edges of the matrices, too
  int64_t loadedBytes = 0;  // of operands, from global memory
  int64_t storedBytes = 0;
};

/// A feasible tile and its cost.
struct GemmChoice {
  int64_t m = 0, n = 0, k = 0;
  /// The CTAs of a cluster: those along M have the same columns, those along N the same rows.
  int64_t clusterM = 1, clusterN = 1;
  /// The number of grid rows that consecutive points (each the tile of a cluster) go down before
  /// they move to the next column.
  int64_t raster = 1;
  /// Whether to launch only as many clusters as the chip can hold at once, each of which processes
  /// several points in sequence. Otherwise each point has its own cluster.
  bool persistent = false;
  /// Whether the result is staged in shared memory and stored by the copy engine.
  bool staged = false;
  /// The number of accumulators in tensor memory; 0 if they are in registers.
  int64_t accumulators = 2;
  /// The warps that multiply with mma.sync, if the user wants a number of them; else 0.
  int64_t warps = 0;
  /// Whether warps have 64 lanes and multiply with MFMA.
  bool isMfma = false;
  /// Whether a slot is filled again as soon as its fragments are in registers, in the iteration
  /// that reads it, and not at the start of the next one: then copies are in flight whenever the
  /// kernel waits.
  bool refillsEarly = false;
  PipelinePlan plan = {};
  int64_t tiles = 0, waves = 0;
  KernelCounts counts = {};
  /// The cycles of the whole product, and what they would be if only compute or only memory limited
  /// it.
  int64_t cycles = 0, computeCycles = 0, memoryCycles = 0;
  /// The fraction of the tensor core's cycles that does useful work.
  double efficiency = 0;
  /// Sentences that explain the cost.
  llvm::SmallVector<std::string> reasons = {};
};

/// The rows or columns of a tile that have scales: groups of 128.
int64_t scaledRows(int64_t rows);

/// The columns of tensor memory that an iteration's scales take: four bytes of 128 rows (or
/// columns) are four columns of 32 lanes.
int64_t scaleColumns(const Gemm &gemm, int64_t m, int64_t n);

/// The accumulators of `n` columns: two, or one if scales or a computed operand leave no columns of
/// tensor memory for a second one.
int64_t accumulatorSlots(const Gemm &gemm, const Machine &machine, int64_t m, int64_t n);

/// The roles of a plan whose accumulator is in tensor memory, by their index. The last two exist if
/// the left operand has a prologue: one computes it; the warps of the other one do nothing, and
/// complete the warpgroup of those that load and multiply, because only whole warpgroups can pass
/// registers to each other.
enum TensorRole : unsigned { tensorLoad, tensorMma, tensorEpilogue, tensorCompute, tensorIdle };
/// The channels of such a plan. Without a prologue the first one has both operands, and there are
/// no others; with one, the raw left operand, the right one, and the computed left one.
enum TensorChannel : unsigned { tensorOperands, tensorRhs, tensorLhs };

/// The channels of a plan for wgmma if both operands have prologues, by their index: the raw left
/// operand, the raw right one, and the computed right one. The last role computes the latter.
enum ComputedChannel : unsigned { rawLhs, rawRhs, computedRhs };

/// The number of warps along M and along N for mma.sync. Each warp computes one rectangle of the
/// tile.
struct WarpGrid {
  int64_t m, n;
};
WarpGrid warpGrid(const GemmChoice &choice);

/// The loop of one tile as a problem for planPipeline(). `choice` specifies the tile sizes and the
/// cluster.
PipelineProblem gemmProblem(const Gemm &gemm, const Machine &machine, const GemmChoice &choice);

/// Computes the cost of a tile; nullopt and a reason if the tile is not feasible. `choice`
/// specifies the tile sizes and the cluster.
std::optional<GemmChoice> costOfTile(const Gemm &gemm, const Machine &machine, GemmChoice choice,
                                     std::string &reason);

/// All feasible tiles, fastest first. Empty, with the reason, if the machine cannot multiply this
/// type, or not as the user wants.
std::vector<GemmChoice> rankTiles(const Gemm &gemm, const Machine &machine, std::string &reason);
inline std::vector<GemmChoice> rankTiles(const Gemm &gemm, const Machine &machine) {
  std::string reason;
  return rankTiles(gemm, machine, reason);
}

/// Explains the first choice, and how much slower the next different choice is and why.
std::string explainChoice(const Gemm &gemm, const Machine &machine,
                          llvm::ArrayRef<GemmChoice> ranked);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_GEMM_H
