// Compares the tiles that the cost model chooses for the chips with those that CUTLASS and Triton
// are known to be best with: theirs must be among the candidates, and cost at most a few percent
// more than ours. Covers only chips for which kernels are emitted: test/gpu/test_costs.py counts
// what those kernels do and compares it with the cost model.
#include "tilewright/target/nvptx/Chip.h"
#include "tilewright/transform/tile/pipeline/TargetMachine.h"

#include "mlir/IR/Builders.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::nvptx {
namespace {

using pipeline::Gemm;
using pipeline::GemmChoice;
using pipeline::Machine;

Machine machineOf(std::string_view chip) {
  static mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  attachTarget(*module, *chipNamed(chip));
  return *pipeline::machineOf(exec::targetOf(*module));
}

/// How much slower than the best candidate the best one with this tile is; 0 if there is none.
double beside(llvm::ArrayRef<GemmChoice> ranked, int64_t m, int64_t n, int64_t clusterM) {
  for (const GemmChoice &choice : ranked)
    if (choice.m == m && choice.n == n && choice.clusterM == clusterM && choice.clusterN == 1)
      return double(choice.cycles) / double(ranked.front().cycles);
  return 0;
}

struct Known {
  const char *chip;
  Gemm gemm;
  int64_t m, n, clusterM;
};

TEST(TileChoice, KnownGoodTilesCostAtMostFivePercentMore) {
  Gemm f8{8192, 8192, 8192, 1, "f8", 8, 8, 16};
  const Known all[] = {
      {"sm_80", {8192, 8192, 8192}, 128, 256, 1}, // CUTLASS's default on Ampere
      {"sm_80", {4096, 4096, 4096}, 128, 128, 1}, // Triton's tutorial
      {"sm_80", {1024, 1024, 1024}, 64, 64, 1},
      {"sm_90a", {8192, 8192, 8192}, 128, 256, 2}, // CUTLASS and CuTe: cluster of 2, multicast
      {"sm_90a", {4096, 4096, 4096}, 128, 256, 2},
      {"sm_90a", f8, 128, 256, 2},
  };
  for (const Known &known : all) {
    std::vector<GemmChoice> ranked = rankTiles(known.gemm, machineOf(known.chip));
    ASSERT_FALSE(ranked.empty()) << known.chip;
    double ratio = beside(ranked, known.m, known.n, known.clusterM);
    EXPECT_GE(ratio, 1.0) << known.chip << ": not among what can be built";
    EXPECT_LE(ratio, 1.05) << known.chip << " " << known.gemm.m << "\n"
                           << explainChoice(known.gemm, machineOf(known.chip), ranked);
  }
}

TEST(TileChoice, EveryChipHasRates) {
  for (const Chip &chip : chips()) {
    Machine machine = machineOf(chip.name);
    EXPECT_GT(machine.products.lookup("f16"), 0) << chip.name;
    EXPECT_GT(machine.l2BytesPerCycle, machine.memoryBytesPerCycle) << chip.name;
    EXPECT_EQ(machine.limits.sharedBytes, int64_t(chip.sharedPerBlockOptin)) << chip.name;
    EXPECT_EQ(machine.limits.tensorColumns > 0, chip.matrix == nvptx::MatrixUnit::tcgen05)
        << chip.name;
  }
}

} // namespace
} // namespace tilewright::nvptx
