// The tiles of a product that can be built, in the order of their cost.
#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilewright::pipeline {

/// Four warps write at least this many columns of a computed right operand at once: a thread has 16
/// bytes of a line of 128.
constexpr int64_t computedColumns = 4 * 32 * 16 / 128;

std::vector<GemmChoice> rankTiles(const Gemm &gemm, const Machine &machine, std::string &reason) {
  std::vector<GemmChoice> ranked;
  if (machine.products.lookup(gemm.type) == 0) {
    reason = llvm::formatv("{0} does not multiply {1}", machine.chip, gemm.type).str();
    return ranked;
  }
  // A prologue produces elements of the right operand's width, whatever their width in memory.
  int64_t widest = gemm.lhsIsComputed ? multipliedBits(gemm) : std::max(gemm.lhsBits, gemm.rhsBits);
  bool registers = machine.matrixUnit == MatrixUnit::mma;
  llvm::SmallVector<int64_t> sidesM, sidesN, depths;
  if (registers) {
    sidesM = {16, 32, 64, 128, 256};
    sidesN = {16, 32, 64, 128, 256};
    depths = {128 * 8 / widest};
  } else if (machine.matrixUnit == MatrixUnit::wgmma) {
    sidesM = {64, 128, 256};
    sidesN = {8, 16, 32, 64, 96, 128, 160, 192, 224, 256};
    depths = {128 * 8 / widest};
  } else {
    sidesM = {64, 128};
    sidesN = {16, 32, 64, 96, 128, 160, 192, 224, 256};
    depths = {128 * 8 / widest};
  }
  struct Shared {
    int64_t m, n;
  };
  llvm::SmallVector<Shared> clusters{{1, 1}};
  if (machine.cluster >= 2)
    clusters.push_back({2, 1});
  if (machine.cluster >= 2 && machine.matrixUnit != MatrixUnit::tcgen05) {
    clusters.push_back({1, 2});
  }
  llvm::SmallVector<int64_t, 2> tile = gemm.hint.tile, cluster = gemm.hint.cluster;
  if (!tile.empty() &&
      (!llvm::is_contained(sidesM, tile[0]) || !llvm::is_contained(sidesN, tile[1]))) {
    auto listed = [](llvm::ArrayRef<int64_t> sides) {
      return llvm::join(llvm::map_range(sides, [](int64_t side) { return std::to_string(side); }),
                        ", ");
    };
    reason =
        llvm::formatv("tiles of this product have {0} rows and {1} columns on {2}, not {3}x{4}",
                      listed(sidesM), listed(sidesN), machine.chip, tile[0], tile[1])
            .str();
    return ranked;
  }
  reason = llvm::formatv("{0} has no cluster of this shape for this product", machine.chip).str();
  for (int64_t m : sidesM)
    for (int64_t n : sidesN)
      for (int64_t k : depths)
        for (Shared shared : clusters) {
          if ((!tile.empty() && (m != tile[0] || n != tile[1])) ||
              (!cluster.empty() && (shared.m != cluster[0] || shared.n != cluster[1])))
            continue;
          if (n % gemm.columnStep != 0 && gemm.columnStep > 8)
            continue;
          if (gemm.rhsIsComputed && n % computedColumns != 0)
            continue;
          GemmChoice choice;
          choice.m = m;
          choice.n = n;
          choice.k = k;
          choice.clusterM = shared.m;
          choice.clusterN = shared.n;
          // Skip clusters whose second CTA would have no work.
          if (shared.m > 1 && gemm.m <= m)
            continue;
          if (shared.n > 1 && gemm.n <= n)
            continue;
          if (std::optional<GemmChoice> cost = costOfTile(gemm, machine, choice, reason))
            ranked.push_back(std::move(*cost));
        }
  // Among choices with equal cycles, prefer less memory traffic, then the simpler choice.
  llvm::sort(ranked, [](const GemmChoice &left, const GemmChoice &right) {
    auto key = [](const GemmChoice &choice) {
      return std::make_tuple(choice.cycles, choice.memoryCycles, choice.clusterM * choice.clusterN,
                             choice.m, choice.n, choice.k);
    };
    return key(left) < key(right);
  });
  return ranked;
}

} // namespace tilewright::pipeline
