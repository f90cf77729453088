// Costs: estimates the cost of layouts in cycles of a multiprocessor, to rank choices. Independent
// of the IR.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_COSTS_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_COSTS_H

#include "tilewright/dialect/sm/Layout.h"

namespace tilewright::solve {

/// Properties of the chip that matter for layouts.
struct Machine {
  int64_t lanes = 32;
  int64_t warps = 4;
  int64_t sharedBytes = 48 * 1024;
  int64_t sectorBytes = 32;
  int64_t maxRegisters = 255;
  int64_t cachedBytes = 128;   // per cycle from the L1 cache
  bool hasRowsInWarps = false; // a row of a product's sums is in one warp
};

/// How a conversion moves elements.
enum class ConvertMethod { nothing, registers, shuffles, sharedMemory };

struct ConvertCost {
  ConvertMethod method = ConvertMethod::nothing;
  double cycles = 0;
};

/// The cost of converting a tile between two layouts. Through shared memory it takes bytes / 128
/// cycles in each direction: one copy is written, all copies are read. The cost is infinite if the
/// tile does not fit in shared memory.
ConvertCost convertCost(const sm::Layout &from, const sm::Layout &to, llvm::ArrayRef<int64_t> shape,
                        int64_t elementBits, const Machine &machine);

/// The cost of a view through shared memory: `elements` are written, and the threads of `result`
/// read their elements.
double moveCost(const sm::Layout &result, int64_t elements, int64_t elementBits,
                const Machine &machine);

/// The cost of loading or storing a tile of `shape` from or to a tensor of shape `whole` with
/// `strides`, by the number of accesses and sectors.
double accessCost(const sm::Layout &layout, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> whole, llvm::ArrayRef<int64_t> strides,
                  int64_t elementBits, bool isStore, const Machine &machine);

/// The cost of `ops` instructions for each register of each thread, including copies.
double computeCost(const sm::Layout &layout, double ops, int64_t elementBits,
                   const Machine &machine);

/// The cost of a reduction over `dims`: first within registers, then across lanes by shuffles, then
/// across warps through shared memory.
double reduceCost(const sm::Layout &input, llvm::ArrayRef<int64_t> dims, double ops,
                  int64_t elementBits, const Machine &machine);

/// The cost of sorting along `dim` in shared memory, with `ops` instructions for each comparison.
/// The layout matters only for how threads write and read their elements, one by one.
double sortCost(const sm::Layout &layout, llvm::ArrayRef<int64_t> shape, int64_t dim, double ops,
                int64_t elementBits, const Machine &machine);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_COSTS_H
