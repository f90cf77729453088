// Costs: what layouts cost in cycles of a multiprocessor. Estimates that rank choices; no IR.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_COSTS_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_COSTS_H

#include "tilewright/dialect/sm/Layout.h"

namespace tilewright::solve {

/// What of the chip matters for layouts.
struct Machine {
  int64_t lanes = 32;
  int64_t warps = 4;
  int64_t sharedBytes = 48 * 1024;
  int64_t sectorBytes = 32;
  int64_t maxRegisters = 255;
};

/// How a conversion moves elements.
enum class Way { nothing, registers, shuffles, sharedMemory };

struct ConvertCost {
  Way way = Way::nothing;
  double cycles = 0;
};

/// The conversion of a tile between two layouts. Through shared memory it takes bytes / 128 cycles
/// each way, reading all copies and writing one; a tile that does not fit there cannot be
/// converted, at infinite cost.
ConvertCost convertCost(const sm::Layout &from, const sm::Layout &to, llvm::ArrayRef<int64_t> shape,
                        int64_t elementBits, const Machine &machine);

/// A view through shared memory: `elements` are written, and `result`'s threads read what they
/// need.
double moveCost(const sm::Layout &result, int64_t elements, int64_t elementBits,
                const Machine &machine);

/// A tile of `shape` loaded from or stored to a whole tensor of shape `whole`, `strides` apart:
/// sectors that the accesses touch, and their number.
double accessCost(const sm::Layout &layout, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> whole, llvm::ArrayRef<int64_t> strides,
                  int64_t elementBits, bool isStore, const Machine &machine);

/// `ops` instructions for each register of each thread, copies included.
double computeCost(const sm::Layout &layout, double ops, int64_t elementBits,
                   const Machine &machine);

/// A reduction over `dims`: registers first, then lanes by shuffles, then warps through shared
/// memory.
double reduceCost(const sm::Layout &input, llvm::ArrayRef<int64_t> dims, double ops,
                  int64_t elementBits, const Machine &machine);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_COSTS_H
