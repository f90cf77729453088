// The pass `tile-pipeline`: finds matmul kernels, plans their software pipelines and rewrites them.
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/pipeline/Epilogue.h"
#include "tilewright/transform/tile/pipeline/PipelinedKernel.h"
#include "tilewright/transform/tile/pipeline/Prologue.h"
#include "tilewright/transform/tile/pipeline/RoleKernel.h"
#include "tilewright/transform/tile/pipeline/TargetMachine.h"
#include "tilewright/transform/tile/pipeline/loops/LoopKernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tile-pipeline"

using namespace mlir;

namespace tilewright::tile {
#define GEN_PASS_DEF_TILEPIPELINEPASS
#include "tilewright/transform/tile/Passes.h.inc"
} // namespace tilewright::tile

namespace tilewright::pipeline {
namespace {

/// The grid coordinates that an index is computed from. `inLoop` is set if it also depends on the
/// loop's iteration.
llvm::SmallSetVector<unsigned, 4> coordinatesOf(Value index, tile::KernelOp kernel, bool &inLoop) {
  llvm::SmallSetVector<unsigned, 4> found;
  SmallVector<Value> open{index};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      llvm::append_range(open, value.getDefiningOp()->getOperands());
    else if (argument.getOwner() == &kernel.getBlock())
      found.insert(argument.getArgNumber());
    else
      inLoop = true;
  }
  return found;
}

/// The grid coordinate that an index is computed from; nullopt if there is none or more than one.
std::optional<unsigned> coordinateOf(Value index, tile::KernelOp kernel) {
  bool inLoop = false;
  llvm::SmallSetVector<unsigned, 4> found = coordinatesOf(index, kernel, inLoop);
  return found.size() == 1 && !inLoop ? std::optional(found[0]) : std::nullopt;
}

/// Which of the product's rows and columns is the last grid coordinate; `fixed` if these two are
/// not the last two coordinates.
Gemm::Order orderOf(const Product &product) {
  tile::KernelOp kernel = product.kernel;
  auto coordinate = [&](const Operand &operand, bool isLhs) {
    tile::LoadOp load = operand.load;
    const bool isOuter = isLhs != operand.transposed;
    if (isOuter && operand.outerDims.size() > 1)
      return std::optional<unsigned>();
    return coordinateOf(
        load.getOffsets()[size_t(isOuter ? operand.outerDims.front() : operand.innerDim)], kernel);
  };
  std::optional<unsigned> row = coordinate(product.lhs, true),
                          column = coordinate(product.rhs, false);
  const size_t rank = kernel.getGrid().size();
  if (rank >= 2 && row == rank - 2 && column == rank - 1)
    return Gemm::Order::alongN;
  if (rank >= 2 && row == rank - 1 && column == rank - 2)
    return Gemm::Order::alongM;
  return Gemm::Order::fixed;
}

/// The size of the whole matrix along one index of an operand: the contiguous one, or the other.
int64_t wholeSize(const Product &product, const Operand &operand, bool isInner) {
  tile::LoadOp load = operand.load;
  tile::KernelOp kernel = product.kernel;
  ArrayRef<int64_t> shape = cast<MemRefType>(load.getSource().getType()).getShape();
  if (isInner)
    return shape[size_t(operand.innerDim)] * operand.packing;
  if (operand.outerDims.size() == 1)
    return llvm::divideCeil(shape[size_t(operand.outerDims[0])], operand.outerStrides[0]);
  // Positions of images: windows overlap in memory, so count the tiles of the grid.
  int64_t size = 1;
  llvm::SmallSetVector<unsigned, 4> coordinates;
  for (auto [dim, tile] : llvm::zip_equal(operand.outerDims, operand.outerSizes)) {
    bool inLoop = false;
    coordinates.insert_range(coordinatesOf(load.getOffsets()[size_t(dim)], kernel, inLoop));
    size *= tile;
  }
  for (unsigned coordinate : coordinates)
    size *= kernel.getGrid()[coordinate];
  return size;
}

/// The width of an element of the right operand where the instruction reads it.
int64_t multipliedBits(const Product &product) {
  auto type = cast<RankedTensorType>(product.rhs.tile.getType());
  return product.rhs.hasPrologue ? int64_t(type.getElementTypeBitWidth()) : product.rhs.bits;
}

/// The product as the cost model needs it, with the sizes of the whole matrices.
Gemm gemmOf(const Product &product) {
  Gemm gemm;
  gemm.m = wholeSize(product, product.lhs, product.lhs.transposed);
  // Compute the depth from the loop, because a grouped contraction has more than one dimension in
  // memory.
  gemm.k = product.iterations * product.k;
  // Only the last tile may have a part beyond the end of memory.
  if (const int64_t depth = wholeSize(product, product.lhs, !product.lhs.transposed);
      depth < gemm.k && gemm.k - depth < product.k)
    gemm.depthInMemory = depth;
  gemm.n = wholeSize(product, product.rhs, !product.rhs.transposed);
  tile::KernelOp kernel = product.kernel;
  int64_t tiles = llvm::divideCeil(gemm.m, product.m) * llvm::divideCeil(gemm.n, product.n);
  gemm.batch = std::max<int64_t>(1, kernel.getPointCount() / std::max<int64_t>(tiles, 1));
  gemm.type = product.type;
  gemm.lhsBits = product.lhs.bits / product.lhs.packing;
  gemm.rhsBits = product.rhs.bits / product.rhs.packing;
  gemm.order = orderOf(product);
  gemm.resultBits = 0;
  for (tile::StoreOp store : kernel.getBody().getOps<tile::StoreOp>()) {
    // Ignore stores of reduced tiles, which are small.
    auto type = cast<RankedTensorType>(store.getTile().getType());
    if (type.getNumElements() == product.m * product.n && type.getElementType().isIntOrFloat())
      gemm.resultBits += type.getElementTypeBitWidth();
  }
  gemm.lhsIsComputed = product.lhs.hasPrologue;
  gemm.rhsIsComputed = product.rhs.hasPrologue;
  gemm.computedBits = multipliedBits(product);
  const exec::Hint hint = exec::hintOf(product.kernel);
  gemm.hint = product.isSwapped ? hint.transposed() : hint;
  // A line of 128 bytes has four scales of 32 rows.
  if (product.isScaled())
    gemm.scaleBytes = product.lhsScale.outerSizes.back();
  return gemm;
}

/// The number of elements of the right operand in a line of 128 bytes. The operand is always in
/// shared memory, in such lines.
int64_t lineElements(const Product &product) { return 128 * 8 / multipliedBits(product); }

/// The depth of the kernel's tile: a line of 128 bytes, or less if no operand has its lines along
/// K.
int64_t depthOf(const Product &product) {
  const bool areRows = product.lhs.transposed && !product.rhs.transposed &&
                       multipliedBits(product) == 16 && !product.lhs.hasPrologue;
  const int64_t line = lineElements(product);
  return areRows && product.k < line && product.k % 16 == 0 ? product.k : line;
}

/// Whether an operand has only zeros beyond the first `depth` elements of every tile along K,
/// because memory ends there.
bool endsWithin(int64_t depth, const Operand &operand, bool kIsOuter) {
  if (kIsOuter && operand.outerDims.size() != 1)
    return false;
  tile::LoadOp load = operand.load;
  const auto dim = size_t(kIsOuter ? operand.outerDims[0] : operand.innerDim);
  std::optional<sm::IndexRange> offset = sm::rangeOf(load.getOffsets()[dim]);
  const int64_t packing = kIsOuter ? 1 : operand.packing;
  return offset && offset->least >= 0 &&
         cast<MemRefType>(load.getSource().getType()).getShape()[dim] * packing <=
             offset->least * packing + depth;
}

/// Why warp-specialized kernels cannot copy or multiply the operands; nullopt if they can.
std::optional<std::string> whyNoRoles(const Product &product, MatrixUnit unit) {
  if (product.rhs.hasPrologue && unit != MatrixUnit::wgmma)
    return "both operands have a prologue, but the instruction reads only one from tensor memory";
  if (product.rhs.hasPrologue && multipliedBits(product) != 16)
    return "both operands have a prologue, and are multiplied in elements of other than 16 bits";
  for (auto [operand, side] : {std::pair(product.lhs, "lhs"), {product.rhs, "rhs"}}) {
    int64_t rowBytes =
        cast<MemRefType>(operand.load.getSource().getType()).getShape().back() * operand.bits / 8;
    if (rowBytes % 16 != 0)
      return llvm::formatv(
                 "rows of its {0} are {1} bytes apart, but the copy engine requires multiples of "
                 "16",
                 side, rowBytes)
          .str();
    // The accumulator has at least 64 rows, and copies have as many, along the outermost dimension.
    const bool isRows = operand.load == product.lhs.load && !operand.transposed;
    const int64_t more =
        isRows ? int64_t(llvm::divideCeil(64, std::min<int64_t>(64, product.m))) : 1;
    for (auto [size, stride] : llvm::zip_equal(operand.outerSizes, operand.outerStrides))
      if (stride > 8 || (stride > 1 && size * more * stride > 256))
        return llvm::formatv("its {0} has {1} rows in memory with a stride of {2}, but a box of "
                             "the copy engine spans at most 256 elements, and a stride at most 8",
                             side, size, stride)
            .str();
  }
  const int64_t line = lineElements(product);
  if (product.k != depthOf(product) &&
      !(product.k < line && !product.lhs.hasPrologue &&
        endsWithin(product.k, product.lhs, product.lhs.transposed) &&
        endsWithin(product.k, product.rhs, !product.rhs.transposed)))
    return llvm::formatv("its tile has depth {0}, but a line of 128 bytes has {1} elements",
                         product.k, line)
        .str();
  // LLVM would let other code use a register of constant zeros while wgmma reads it.
  if (unit == MatrixUnit::wgmma && product.lhs.hasPrologue &&
      endsWithin(product.k - 16, product.lhs, product.lhs.transposed))
    return llvm::formatv("the prologue of its {0} computes only zeros for a part of each tile",
                         product.isSwapped ? "rhs" : "lhs")
        .str();
  // The threads of the prologue could also round it, but not the other operand.
  tile::DotOp dot = product.dot;
  if (dot.getTf32() && product.lhs.hasPrologue)
    return llvm::formatv("the copy engine rounds operands to tf32, but its {0} has a prologue",
                         product.isSwapped ? "rhs" : "lhs")
        .str();
  // Matrix instructions for 16-bit elements accept both orders; all others require lines along K.
  if (multipliedBits(product) != 16 &&
      ((product.lhs.transposed && !product.lhs.hasPrologue) || !product.rhs.transposed))
    return llvm::formatv("matrix instructions of {0} need both operands contiguous along K",
                         product.type)
        .str();
  return std::nullopt;
}

/// The part of the product's tile that one CTA of a cluster computes; nullopt if a part of a CTA's
/// tile would be empty.
std::optional<GemmChoice> divideTile(const Product &product, const Machine &machine,
                                     int64_t clusterM, int64_t clusterN) {
  const int64_t line = lineElements(product);
  // Accumulators in tensor memory with 128 rows have multiples of 16 columns.
  // A computed right operand is written 16 columns at a time.
  const int64_t leastStep =
      machine.matrixUnit == MatrixUnit::tcgen05 || product.rhs.hasPrologue ? 16 : 8;
  const int64_t columnStep = product.rhs.transposed ? leastStep : line;
  const int64_t rowStep =
      product.lhs.transposed && !product.lhs.hasPrologue ? std::max<int64_t>(64, line) : 64;
  if ((clusterM > 1 && product.m % (clusterM * rowStep) != 0) ||
      (clusterN > 1 && product.n % (clusterN * columnStep) != 0))
    return std::nullopt;
  GemmChoice choice;
  choice.m = int64_t(llvm::alignTo(product.m, clusterM * rowStep)) / clusterM;
  choice.n = int64_t(llvm::alignTo(product.n, clusterN * columnStep)) / clusterN;
  choice.k = depthOf(product);
  choice.clusterM = clusterM;
  choice.clusterN = clusterN;
  return choice;
}

/// Whether the result can be staged in shared memory. If not, sets `why` if a remark should say so.
bool canStage(const Product &product, const GemmChoice &choice, std::string &why) {
  tile::StoreOp store = findStoreToStage(product, why);
  if (!store)
    return false;
  // The copy engine writes whole boxes, so all elements of a box must be valid.
  if (choice.m * choice.clusterM != product.m || choice.n * choice.clusterN != product.n)
    why = "its tile is smaller than the accumulator";
  else if (choice.n % 64 != 0)
    why = llvm::formatv("{0} columns are not a multiple of 64", choice.n).str();
  return why.empty();
}

/// The cost of a warp-specialized kernel; nullopt and a reason if it is not feasible.
std::optional<GemmChoice> costOfRoles(const Product &product, Gemm gemm, const Machine &machine,
                                      const GemmChoice &choice, std::string &reason) {
  if (choice.n > 256) {
    reason =
        llvm::formatv("its tile has {0} columns, but an instruction supports at most 256", choice.n)
            .str();
    return std::nullopt;
  }
  if (machine.matrixUnit == MatrixUnit::tcgen05 && choice.m != 64 && choice.m != 128) {
    reason = llvm::formatv("its tile has {0} rows, but an accumulator in tensor memory has 64 or "
                           "128",
                           choice.m)
                 .str();
    return std::nullopt;
  }
  // Each CTA of a pair has 128 rows and half of the columns, in whole lines if they are contiguous.
  const int64_t pairStep = product.rhs.transposed ? 32 : 2 * lineElements(product);
  if (machine.matrixUnit == MatrixUnit::tcgen05 && choice.clusterM == 2 &&
      (choice.m != 128 || choice.n % pairStep != 0)) {
    reason = llvm::formatv("its tile has {0}x{1} elements, but a pair of CTAs needs 128 rows each "
                           "and multiples of {2} columns",
                           choice.m, choice.n, pairStep)
                 .str();
    return std::nullopt;
  }
  if (product.isScaled() && (machine.matrixUnit != MatrixUnit::tcgen05 || choice.m != 128 ||
                             choice.clusterM * choice.clusterN > 1)) {
    reason = "products with scales have 128 rows in the tensor memory of one CTA";
    return std::nullopt;
  }
  if (product.lhs.hasPrologue && !llvm::isPowerOf2_64(choice.m)) {
    reason =
        llvm::formatv("threads read {0} rows of a slot, but must read a power of two", choice.m)
            .str();
    return std::nullopt;
  }
  std::string whyDirect;
  gemm.canStage = canStage(product, choice, whyDirect);
  std::optional<GemmChoice> cost = costOfTile(gemm, machine, choice, reason);
  if (cost && cost->staged)
    if (std::optional<std::string> problem = whyNoEpilogue(product, *cost)) {
      whyDirect = *problem;
      gemm.canStage = false;
      cost = costOfTile(gemm, machine, choice, reason);
    }
  if (!cost)
    return std::nullopt;
  if (!whyDirect.empty())
    cost->reasons.push_back("the result is stored from registers: " + whyDirect);
  std::optional<std::string> problem = whyNoEpilogue(product, *cost);
  if (!problem && product.lhs.hasPrologue)
    problem = Prologue(product, *cost).problem();
  if (!problem && product.rhs.hasPrologue)
    problem = Prologue(product, *cost, /*isLhs=*/false).problem();
  if (problem) {
    reason = *problem;
    return std::nullopt;
  }
  return cost;
}

/// Chooses how to divide the tile among the CTAs of a cluster, with the plan.
std::optional<GemmChoice> chooseRoles(const Product &product, const Gemm &gemm,
                                      const Machine &machine, std::string &reason) {
  if (std::optional<std::string> problem = whyNoRoles(product, machine.matrixUnit)) {
    reason = *problem;
    return std::nullopt;
  }
  bool reduces = false;
  tile::KernelOp kernel = product.kernel;
  kernel.getBody().walk([&](tile::ReduceOp) { reduces = true; });
  std::optional<GemmChoice> best;
  std::string first;
  for (auto [clusterM, clusterN] : {std::pair<int64_t, int64_t>(1, 1), {2, 1}, {1, 2}}) {
    // A reduction must not span CTAs, so it rules out clusters.
    if (clusterM * clusterN > (reduces ? 1 : machine.cluster))
      continue;
    // Two CTAs that share tensor products divide the rows.
    if (clusterN > 1 && machine.matrixUnit == MatrixUnit::tcgen05)
      continue;
    std::optional<GemmChoice> choice = divideTile(product, machine, clusterM, clusterN);
    if (!choice)
      continue;
    std::string why;
    std::optional<GemmChoice> cost = costOfRoles(product, gemm, machine, *choice, why);
    TILEWRIGHT_LOG(DEBUG_TYPE, kernel, "a cluster of ", clusterM, " x ", clusterN,
                   cost ? " CTAs would take " : " CTAs is not feasible: ",
                   cost ? std::to_string(cost->cycles) + " cycles" : why);
    if (cost && (!best || cost->cycles < best->cycles))
      best = cost;
    if (first.empty())
      first = why;
  }
  if (!best)
    reason = first;
  return best;
}

/// Chooses the form of the kernel and its plan.
std::optional<GemmChoice> choose(const Product &product, const Machine &machine,
                                 std::string &reason) {
  Gemm gemm = gemmOf(product);
  tile::DotOp dot = product.dot;
  if (machine.matrixUnit == MatrixUnit::mma)
    return choosePipelined(product, gemm, withWarpProducts(machine), reason);
  std::optional<GemmChoice> roles = chooseRoles(product, gemm, machine, reason);
  if (roles || product.isScaled() || (machine.matrixUnit == MatrixUnit::wgmma && !dot.getTf32()))
    return roles;
  // Without roles, operands go through registers: there they are rounded to tf32, have prologues,
  // and may be in any order.
  const std::string why = reason;
  std::optional<GemmChoice> pipelined =
      choosePipelined(product, gemm, withWarpProducts(machine), reason);
  if (pipelined)
    pipelined->reasons.push_back("it has no roles: " + why);
  return pipelined;
}

/// Divides a kernel with several products in a loop into roles. Returns whether it did.
bool divideLoop(tile::KernelOp kernel, const Machine &machine) {
  std::string reason;
  std::optional<PlannedLoop> planned = planProductLoop(kernel, machine, reason);
  if (!planned)
    return false;
  auto options = remark::RemarkOpts::name("pipeline").category(DEBUG_TYPE);
  const std::string name = kernel.getSymName().str();
  for (const std::string &why : planned->plan.plan.reasons)
    remark::passed(kernel.getLoc(), options)
        << llvm::formatv("{0}: {1}", name, why).str() << remark::metric("Kernel", name);
  TILEWRIGHT_LOG(DEBUG_TYPE, kernel, "'", name,
                 "' is warp-specialized: ", llvm::join(planned->plan.plan.reasons, "; "));
  makeLoopKernel(*planned);
  return true;
}

struct TilePipelinePass : tile::impl::TilePipelinePassBase<TilePipelinePass> {
  using TilePipelinePassBase::TilePipelinePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Machine> machine = machineOf(exec::targetOf(module));
    if (!machine)
      return;
    auto options = remark::RemarkOpts::name("pipeline").category(DEBUG_TYPE);
    for (tile::KernelOp kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
      if (interpret::mustStopAt(kernel))
        return signalPassFailure();
      // Ignore kernels without a matmul.
      if (!kernel.getBody()
               .walk([](tile::DotOp) { return WalkResult::interrupt(); })
               .wasInterrupted())
        continue;
      // Copy engines and roles do not know windows and their barriers.
      if (llvm::any_of(kernel.getBlock().getArgumentTypes(), tile::isWindow))
        continue;
      std::string reason;
      if (divideLoop(kernel, *machine))
        continue;
      std::optional<Product> product = findProduct(kernel, reason);
      std::optional<GemmChoice> choice =
          product ? choose(*product, *machine, reason) : std::nullopt;
      if (const exec::Hint hint = exec::hintOf(kernel); choice) {
        exec::settleHint(module, hint);
      } else if (!hint.isEmpty()) {
        exec::refuseHint(module, kernel.getLoc(), hint, reason);
        exec::setHint(kernel, {});
        choice = product ? choose(*product, *machine, reason) : std::nullopt;
      }
      if (!choice) {
        TILEWRIGHT_LOG(DEBUG_TYPE, kernel, "'", kernel.getSymName(), "' is left alone: ", reason);
        remark::missed(kernel.getLoc(), options)
            << remark::reason("{0} {1}: {2}", kernel.getSymName(),
                              machine->matrixUnit == MatrixUnit::mma ? "is not pipelined"
                                                                     : "is not warp-specialized",
                              reason)
            << remark::metric("Kernel", kernel.getSymName().str());
        // No other kernel reads ordered scales, except those that multiply by MFMA.
        if (product && product->isScaled() && !hasMfma(*machine)) {
          kernel.emitError() << "'" << kernel.getSymName()
                             << "' multiplies with scales, but has no pipeline: " << reason;
          return signalPassFailure();
        }
        continue;
      }
      std::string name = kernel.getSymName().str();
      Location loc = kernel.getLoc();
      TILEWRIGHT_LOG(DEBUG_TYPE, kernel, "'", name,
                     choice->plan.roles.size() == 1 ? "' is pipelined: "
                                                    : "' is warp-specialized: ",
                     llvm::join(choice->reasons, "; "));
      if (choice->plan.roles.size() == 1)
        makePipelinedKernel(*product, *choice);
      else
        makeRoleKernel(*product, *choice);
      for (const std::string &why : choice->reasons)
        remark::passed(loc, options)
            << llvm::formatv("{0}: {1}", name, why).str() << remark::metric("Kernel", name);
    }
  }
};

} // namespace
} // namespace tilewright::pipeline
