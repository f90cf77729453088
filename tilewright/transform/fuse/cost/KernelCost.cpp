#include "tilewright/transform/fuse/cost/KernelCost.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/fuse/Classify.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::fuse {
namespace {

/// Rates of one unit of a machine without `rates`, and of a core of a CPU: bytes per cycle from
/// memory and from the cache that the units share, and that cache's size. Estimated.
struct UnitRates {
  double memory, l2, l2Bytes;
};
constexpr UnitRates ofCore{4, 16, 1 << 20}, ofMultiprocessor{12, 40, 256 << 10};

/// Vector instructions that a core issues per cycle.
constexpr double corePorts = 2;
/// Lanes that execute an f32 instruction in a cycle: four schedulers with a warp of 32 each, or
/// four units of 16 lanes for a wavefront of 64.
constexpr double lanesOfWarps = 128, lanesOfWavefronts = 64;

} // namespace

KernelCost::KernelCost(exec::TargetAttr target) {
  const auto units = double(target.getUnits());
  const bool isGpu = target.isGpu();
  const UnitRates &unit = isGpu ? ofMultiprocessor : ofCore;
  memoryRate = unit.memory * units;
  l2Rate = unit.l2 * units;
  l2Size = unit.l2Bytes * units;
  if (isGpu) {
    issueRate = units * (target.getGpu().getWarpSize() == 64 ? lanesOfWavefronts : lanesOfWarps);
  } else {
    const double vectorBytes = target.getCpu() ? double(target.getCpu().getVectorBytes()) : 32;
    issueRate = units * corePorts * vectorBytes / 4;
  }
  if (exec::RatesAttr rates = target.getRates()) {
    memoryRate = double(rates.getMemoryBytesPerCycle());
    l2Rate = double(rates.getL2BytesPerCycle());
    l2Size = double(rates.getL2Bytes());
  }
}

double KernelCost::cyclesOf(const KernelWork &work) const {
  return std::max(work.memoryBytes / memoryRate + work.l2Bytes / l2Rate,
                  work.instructions / issueRate);
}

void KernelCost::addValue(KernelWork &work, Type type, double times) const {
  const double bytes = bytesOf(type);
  (bytes <= l2Size / 2 ? work.l2Bytes : work.memoryBytes) += times * bytes;
}

double KernelCost::cyclesToMove(double bytes) const {
  return bytes / (bytes <= l2Size / 2 ? l2Rate : memoryRate);
}

double bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  double bits = 0;
  if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else
    bits = std::max(8u, element.getIntOrFloatBitWidth());
  return double(tensor.getNumElements()) * bits / 8;
}

double instructionsOf(Operation *op) {
  // Counted in the PTX that we generate for f32 on sm_90a, rounded; PTX's division and square root
  // are several machine instructions.
  const double count =
      llvm::TypeSwitch<Operation *, double>(op)
          .Case<stablehlo::ExponentialOp, stablehlo::SqrtOp, stablehlo::RsqrtOp,
                stablehlo::DivideOp>([](auto) { return 10; })
          .Case<stablehlo::LogisticOp, stablehlo::ExponentialMinusOneOp, stablehlo::LogOp,
                stablehlo::CbrtOp>([](auto) { return 25; })
          .Case<stablehlo::TanhOp, stablehlo::LogPlusOneOp, stablehlo::Atan2Op,
                stablehlo::CompositeOp>([](auto) { return 45; })
          .Case<stablehlo::RemainderOp, stablehlo::PowerOp, stablehlo::SineOp, stablehlo::CosineOp,
                stablehlo::TanOp>([](auto) { return 90; })
          .Default([](Operation *other) {
            const OpClass opClass = classify(other);
            return opClass == OpClass::splat || opClass == OpClass::reshape ? 0 : 1;
          });
  // Elements of 8 bytes take two registers, and complex ones about four times the arithmetic.
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (isa<ComplexType>(element))
    return 4 * count;
  return element.getIntOrFloatBitWidth() > 32 ? 2 * count : count;
}

} // namespace tilewright::fuse
