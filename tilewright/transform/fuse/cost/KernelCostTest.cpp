// Tests the cost of kernels without matrix instructions.
#include "tilewright/transform/fuse/cost/KernelCost.h"

#include "mlir/AsmParser/AsmParser.h"

#include <gtest/gtest.h>

namespace tilewright::fuse {
namespace {

class KernelCosts : public testing::Test {
protected:
  KernelCosts() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<exec::ExecDialect>();
  }
  KernelCost costOn(const std::string &target) {
    return KernelCost(mlir::cast<exec::TargetAttr>(
        mlir::parseAttribute("#exec.target<" + target + ">", &context)));
  }
  KernelCost hopper() {
    return costOn("units = 132, gpu = <>, rates = <l2_bytes_per_cycle = 5120, "
                  "memory_bytes_per_cycle = 1830, l2_bytes = 50000000>");
  }
  mlir::Type type(const std::string &text) { return mlir::parseType(text, &context); }
  double cyclesToRead(const KernelCost &cost, const std::string &text) {
    KernelWork work;
    cost.addValue(work, type(text));
    return cost.cyclesOf(work);
  }

  mlir::MLIRContext context;
};

TEST_F(KernelCosts, ValuesOfHalfOfL2StayThere) {
  EXPECT_DOUBLE_EQ(cyclesToRead(hopper(), "tensor<25000000xi8>"), 25e6 / 5120);
  EXPECT_DOUBLE_EQ(cyclesToRead(hopper(), "tensor<25000001xi8>"), 25000001.0 / 1830);
}

TEST_F(KernelCosts, BytesAreThoseInMemory) {
  EXPECT_EQ(bytesOf(type("tensor<3x5xi1>")), 15);
  EXPECT_EQ(bytesOf(type("tensor<4xbf16>")), 8);
  EXPECT_EQ(bytesOf(type("tensor<4xcomplex<f64>>")), 64);
  EXPECT_EQ(bytesOf(type("tensor<0x4xf32>")), 0);
}

TEST_F(KernelCosts, LoadsAndInstructionsOverlap) {
  KernelWork work{.memoryBytes = 1830 * 100, .instructions = 132 * 128 * 99};
  EXPECT_DOUBLE_EQ(hopper().cyclesOf(work), 100);
  work.instructions = 132 * 128 * 101;
  EXPECT_DOUBLE_EQ(hopper().cyclesOf(work), 101);
}

TEST_F(KernelCosts, ACoreExecutesTwoVectorsPerCycle) {
  const KernelWork work{.instructions = 16 * 2 * 2 * 50};
  EXPECT_DOUBLE_EQ(costOn("units = 2, cpu = <vector_bytes = 64>").cyclesOf(work), 50);
  EXPECT_DOUBLE_EQ(costOn("units = 2, cpu = <vector_bytes = 32>").cyclesOf(work), 100);
  EXPECT_DOUBLE_EQ(costOn("units = 1, cpu = <vector_bytes = 64>").cyclesOf(work), 100);
}

} // namespace
} // namespace tilewright::fuse
