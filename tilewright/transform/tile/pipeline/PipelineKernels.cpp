// The pass `tile-pipeline`: find products, plan them, change them.
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/pipeline/PipelinedKernel.h"
#include "tilewright/transform/tile/pipeline/Prologue.h"
#include "tilewright/transform/tile/pipeline/ReadMachine.h"
#include "tilewright/transform/tile/pipeline/RoleKernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tile-pipeline"

using namespace mlir;

namespace tilewright::tile {
#define GEN_PASS_DEF_TILEPIPELINEPASS
#include "tilewright/transform/tile/Passes.h.inc"
} // namespace tilewright::tile

namespace tilewright::pipeline {
namespace {

/// The product as the cost sees it: sizes of the whole matrices.
Gemm gemmOf(const Product &product) {
  auto sizesOf = [](const Operand &operand) {
    tile::LoadOp load = operand.load;
    ArrayRef<int64_t> shape = cast<MemRefType>(load.getSource().getType()).getShape();
    int64_t first = shape[size_t(operand.outerDim)], second = shape[size_t(operand.innerDim)];
    return operand.transposed ? std::pair(second, first) : std::pair(first, second);
  };
  Gemm gemm;
  gemm.m = sizesOf(product.lhs).first;
  // Of a contraction in groups memory has more than one dimension.
  gemm.k = product.iterations * product.k;
  gemm.n = sizesOf(product.rhs).second;
  tile::KernelOp kernel = product.kernel;
  int64_t tiles = llvm::divideCeil(gemm.m, product.m) * llvm::divideCeil(gemm.n, product.n);
  gemm.batch = std::max<int64_t>(1, kernel.getPointCount() / std::max<int64_t>(tiles, 1));
  gemm.type = product.type;
  gemm.lhsBits = product.lhs.bits;
  gemm.rhsBits = product.rhs.bits;
  gemm.lhsInRegisters = product.lhs.hasPrologue;
  return gemm;
}

/// The best way to divide the tile among CTAs of a cluster, with its plan.
std::optional<GemmChoice> choose(const Product &product, const Machine &machine,
                                 std::string &reason) {
  Gemm gemm = gemmOf(product);
  tile::DotOp dot = product.dot;
  if (machine.matrixUnit != MatrixUnit::wgmma || dot.getTf32())
    return choosePipelined(product, gemm, withWarpProducts(machine), reason);
  for (auto [operand, side] : {std::pair(product.lhs, "lhs"), {product.rhs, "rhs"}}) {
    int64_t rowBytes =
        cast<MemRefType>(operand.load.getSource().getType()).getShape().back() * operand.bits / 8;
    if (rowBytes % 16 != 0) {
      reason = llvm::formatv(
                   "rows of its {0} are {1} bytes apart, and the copy engine takes multiples of 16",
                   side, rowBytes)
                   .str();
      return std::nullopt;
    }
  }
  // The right side is in lines of shared memory in any case.
  const int64_t line = 128 * 8 / product.rhs.bits;
  if (product.k != line && !(product.k < line && product.iterations == 1 && gemm.k <= product.k &&
                             !product.lhs.hasPrologue)) {
    reason = llvm::formatv("its tile is {0} deep, and a line of 128 bytes is {1}", product.k, line)
                 .str();
    return std::nullopt;
  }
  // Instructions for elements of 16 bits take either order, others only K in lines.
  bool sixteen = product.rhs.bits == 16;
  if (!sixteen &&
      ((product.lhs.transposed && !product.lhs.hasPrologue) || !product.rhs.transposed)) {
    reason = llvm::formatv("matrix instructions of {0} want both operands contiguous along K",
                           product.type)
                 .str();
    return std::nullopt;
  }
  const int64_t columnStep = product.rhs.transposed ? 8 : line;
  const int64_t rowStep =
      product.lhs.transposed && !product.lhs.hasPrologue ? std::max<int64_t>(64, line) : 64;
  bool reduces = false;
  tile::KernelOp kernel = product.kernel;
  kernel.getBody().walk([&](tile::ReduceOp) { reduces = true; });
  std::optional<GemmChoice> best;
  std::string first;
  for (auto [clusterM, clusterN] : {std::pair<int64_t, int64_t>(1, 1), {2, 1}, {1, 2}}) {
    // A reduction would go across CTAs.
    if (clusterM * clusterN > (reduces ? 1 : machine.cluster))
      continue;
    GemmChoice choice;
    choice.m = int64_t(llvm::alignTo(product.m, clusterM * rowStep)) / clusterM;
    choice.n = int64_t(llvm::alignTo(product.n, clusterN * columnStep)) / clusterN;
    choice.k = line;
    choice.clusterM = clusterM;
    choice.clusterN = clusterN;
    // Half of a tile for nobody is no gain.
    if ((clusterM > 1 && product.m % (clusterM * rowStep) != 0) ||
        (clusterN > 1 && product.n % (clusterN * columnStep) != 0))
      continue;
    std::string why;
    std::optional<GemmChoice> cost;
    if (choice.n > 256)
      why = llvm::formatv("its tile has {0} columns, and an instruction takes 256", choice.n).str();
    else if ((cost = costOfTile(gemm, machine, choice, why)))
      if (std::optional<std::string> problem = whyNoEpilogue(product, *cost)) {
        why = *problem;
        cost.reset();
      }
    if (cost && product.lhs.hasPrologue)
      if (std::optional<std::string> problem = Prologue(product, *cost).problem()) {
        why = *problem;
        cost.reset();
      }
    if (cost && (!best || cost->cycles < best->cycles))
      best = cost;
    if (first.empty())
      first = why;
  }
  if (!best)
    reason = first;
  return best;
}

struct TilePipelinePass : tile::impl::TilePipelinePassBase<TilePipelinePass> {
  using TilePipelinePassBase::TilePipelinePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Machine> machine = readMachine(module->getAttr("exec.target"));
    if (!machine)
      return;
    auto options = remark::RemarkOpts::name("pipeline").category(DEBUG_TYPE);
    for (tile::KernelOp kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
      // A kernel without a product is none of ours.
      if (!kernel.getBody()
               .walk([](tile::DotOp) { return WalkResult::interrupt(); })
               .wasInterrupted())
        continue;
      std::string reason;
      std::optional<Product> product = findProduct(kernel, reason);
      std::optional<GemmChoice> choice =
          product ? choose(*product, *machine, reason) : std::nullopt;
      if (!choice) {
        remark::missed(kernel.getLoc(), options) << remark::reason(
            "{0} {1}: {2}", kernel.getSymName(),
            machine->matrixUnit == MatrixUnit::mmaSync ? "is not pipelined" : "has no roles",
            reason);
        continue;
      }
      std::string name = kernel.getSymName().str();
      Location loc = kernel.getLoc();
      if (choice->plan.roles.size() == 1)
        makePipelinedKernel(*product, *choice);
      else
        makeRoleKernel(*product, *choice);
      ++numKernels;
      for (const std::string &why : choice->reasons)
        remark::passed(loc, options) << llvm::formatv("{0}: {1}", name, why).str();
    }
  }
};

} // namespace
} // namespace tilewright::pipeline
