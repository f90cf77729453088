#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/EmitKernel.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/RowKernels.h"
#include "tilewright/transform/tile/Tiling.h"
#include "tilewright/transform/tile/attention/EmitAttention.h"
#include "tilewright/transform/tile/attention/EmitGradients.h"
#include "tilewright/transform/tile/scaled/EmitScaled.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Remarks.h"

#include <map>

#define DEBUG_TYPE "tile-fusions"

using namespace mlir;

namespace tilewright::tile {
#define GEN_PASS_DEF_TILEFUSIONSPASS
#include "tilewright/transform/tile/Passes.h.inc"
} // namespace tilewright::tile

namespace tilewright::tile {

/// Turns a name into a symbol name that needs no quotes after `@`.
static std::string symbolName(StringRef name) {
  std::string symbol;
  for (char c : name)
    symbol += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (symbol.empty() || llvm::isDigit(symbol.front()))
    symbol.insert(0, "k");
  return symbol;
}

/// States which results of a launch share memory with an input, and whether they must.
static void setAliases(exec::LaunchOp launch, KernelOp kernel, const Capacities &capacities) {
  if (std::optional<ArrayRef<int64_t>> updates = kernel.getUpdates()) {
    launch.setAliases(updates);
    launch.setInPlace(true);
    return;
  }
  SmallVector<int64_t> aliases;
  for (auto [result, input] : findAliases(kernel)) {
    // Do not alias an input that is passed twice, because it is read in two ways. Never alias on a
    // GPU, where no barrier separates a block's loads from its stores.
    if (capacities.isGpu ||
        llvm::count(launch.getInputs(), launch.getInputs()[static_cast<unsigned>(input)]) != 1)
      continue;
    aliases.push_back(result);
    aliases.push_back(input);
  }
  if (!aliases.empty())
    launch.setAliases(aliases);
}

static void insertKernel(SymbolTable &symbols, KernelOp kernel) {
  symbols.insert(kernel);
  mergeMaps(kernel);
}

/// Makes a launch of a kernel of the module, for a fusion.
static exec::LaunchOp makeLaunch(OpBuilder &builder, exec::FusionOp fusion, KernelOp kernel,
                                 ValueRange operands, TypeRange results) {
  auto launch = exec::LaunchOp::create(builder, fusion.getLoc(), results, kernel.getSymName(),
                                       operands, DenseI64ArrayAttr(),
                                       /*in_place=*/false);
  const Cost cost = costPerPoint(kernel);
  launch->setDiscardableAttr(
      "exec.cost", builder.getDictionaryAttr(
                       {builder.getNamedAttr("bytes", builder.getI64IntegerAttr(cost.bytes)),
                        builder.getNamedAttr("flops", builder.getI64IntegerAttr(cost.flops))}));
  // The driver records the arithmetic of the fusion's ops for the executable's step costs, and the
  // products that a library may compute; tile-unpack-loads reads "exec.unpacks".
  for (StringRef name : {"exec.work", "exec.scaled", "exec.unpacks"})
    if (Attribute known = fusion->getDiscardableAttr(name))
      launch->setDiscardableAttr(name, known);
  return launch;
}

/// Replaces a fusion of a sort, a scan or a scatter of sorted rows by launches of one or more
/// kernels.
static bool tileRows(exec::FusionOp fusion, SymbolTable &symbols, const Capacities &capacities,
                     std::string &reason) {
  OpBuilder builder(fusion);
  int64_t kernels = 0;
  auto launch = [&](KernelOp kernel, ValueRange operands, TypeRange results) -> ValueRange {
    ++kernels;
    insertKernel(symbols, kernel);
    exec::LaunchOp made = makeLaunch(builder, fusion, kernel, operands, results);
    if (kernel.getUpdates())
      setAliases(made, kernel, capacities);
    return made.getResults();
  };
  std::optional<SmallVector<Value>> made =
      emitRowKernels(fusion, symbolName(fusion.getName()), capacities, launch, reason);
  if (!made)
    return false;
  for (auto [result, value] : llvm::zip_equal(fusion.getResults(), *made)) {
    // Kernels may view memory in other shapes, so the launch can have the fusion's types.
    value.setType(result.getType());
    result.replaceAllUsesWith(value);
  }
  TILEWRIGHT_LOG(DEBUG_TYPE, fusion, "becomes kernels for whole rows: ", kernels);
  fusion.erase();
  return true;
}

/// Gives the fusion the locations of all of its ops, which its kernel and launch take over:
/// messages name the first, profiles show all.
static void fuseLocations(exec::FusionOp fusion) {
  SmallVector<Location> locations{fusion.getLoc()};
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      locations.push_back(op.getLoc());
  fusion->setLoc(FusedLoc::get(fusion.getContext(), locations));
}

namespace {
/// The kernels of fusions, so that equal fusions share one: the layers of a model are mostly equal,
/// and compiling a kernel costs much more than comparing two fusions.
class KnownKernels {
public:
  struct Known {
    exec::FusionOp fusion;
    KernelOp kernel;
    SmallVector<int> inputs; // of the fusion, in the order of the kernel's
  };

  /// The kernel of a fusion that is equal except for its location, or null.
  const Known *find(exec::FusionOp fusion) const {
    auto [begin, end] = all.equal_range(hash(fusion));
    for (const auto &[key, known] : llvm::make_range(begin, end))
      if (isEqual(known.fusion, fusion))
        return &known;
    return nullptr;
  }
  /// Remembers the kernel of a fusion, which must exist until eraseFusions().
  const Known *add(exec::FusionOp fusion, KernelOp kernel, ArrayRef<int> inputs) {
    return &all.emplace(hash(fusion), Known{fusion, kernel, SmallVector<int>(inputs)})->second;
  }
  void eraseFusions() {
    for (auto &[key, known] : all)
      known.fusion.erase();
    all.clear();
  }

private:
  static llvm::hash_code hash(exec::FusionOp fusion) {
    llvm::hash_code code = llvm::hash_value(fusion.getName());
    for (Operation &op : fusion.getBody().front())
      code = llvm::hash_combine(
          code, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                  OperationEquivalence::ignoreHashValue,
                                                  OperationEquivalence::IgnoreLocations));
    return code;
  }
  static bool isEqual(exec::FusionOp a, exec::FusionOp b) {
    return a.getName() == b.getName() && a->getOperandTypes() == b->getOperandTypes() &&
           a->getResultTypes() == b->getResultTypes() &&
           OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                      OperationEquivalence::IgnoreLocations);
  }

  std::multimap<size_t, Known> all;
};
} // namespace

/// Gives the kernel the hint that its tiles follow, for `tile-pipeline`, or reports why they do not
/// follow it.
static void followHint(exec::FusionOp fusion, const Tiling &tiling, KernelOp kernel) {
  for (Operation &op : fusion.getBody().front())
    if (const exec::Hint hint = exec::hintOf(&op); !hint.isEmpty()) {
      if (tiling.hint == hint)
        exec::setHint(kernel, hint);
      else
        exec::refuseHint(fusion->getParentOfType<ModuleOp>(), op.getLoc(), hint,
                         tiling.whyNotHint.empty()
                             ? "its kernel multiplies without matrix instructions"
                             : StringRef(tiling.whyNotHint));
    }
}

/// Makes the kernel of a fusion. On failure, returns null and sets `reason`.
static const KnownKernels::Known *makeKernel(exec::FusionOp fusion, SymbolTable &symbols,
                                             KnownKernels &kernels, const Capacities &capacities,
                                             std::string &reason) {
  OpBuilder builder(fusion.getContext());
  const bool isAttention = attentionOf(fusion) != nullptr,
             isGradient = gradientsOf(fusion) != nullptr;
  if (isAttention || isGradient || hasScaledProduct(fusion)) {
    const std::string name = symbolName(fusion.getName());
    KernelOp kernel = isAttention  ? emitAttentionKernel(builder, fusion, name, capacities)
                      : isGradient ? emitGradientKernel(builder, fusion, name, capacities, reason)
                                   : emitScaledKernel(builder, fusion, name, capacities, reason);
    if (!kernel)
      return nullptr;
    insertKernel(symbols, kernel);
    TILEWRIGHT_LOG(DEBUG_TYPE, fusion, "becomes kernel '", kernel.getSymName(), "' of ",
                   isAttention  ? "attention"
                   : isGradient ? "the gradients of attention"
                                : "a scaled product");
    return kernels.add(
        fusion, kernel,
        llvm::to_vector(llvm::seq<int>(0, static_cast<int>(fusion->getNumOperands()))));
  }
  std::optional<FusionGraph> graph = FusionGraph::create(fusion, reason);
  if (!graph)
    return nullptr;
  std::optional<Tiling> tiling = Tiling::create(*graph, capacities, reason);
  if (!tiling)
    return nullptr;
  SmallVector<int> inputs;
  KernelOp kernel = emitKernel(builder, fusion.getLoc(), symbolName(fusion.getName()), *graph,
                               *tiling, capacities, inputs);
  insertKernel(symbols, kernel);
  followHint(fusion, *tiling, kernel);
  TILEWRIGHT_LOG(DEBUG_TYPE, fusion, "becomes kernel '", kernel.getSymName(), "' with tiles ",
                 listed(tiling->tiles), " of ", listed(tiling->sizes),
                 "; dimensions in the grid: ", tiling->gridRank);
  return kernels.add(fusion, kernel, inputs);
}

/// Replaces the fusion by a launch of its kernel, which is created unless an equal fusion already
/// has one. On failure, keeps the fusion and sets `reason`.
static bool tileFusion(exec::FusionOp fusion, SymbolTable &symbols, KnownKernels &kernels,
                       const Capacities &capacities, std::string &reason) {
  if (fusion.getNumResults() == 0) {
    reason = "it has no results";
    return false;
  }
  fuseLocations(fusion);
  if (hasRowOp(fusion)) {
    if (capacities.isGpu)
      return tileRows(fusion, symbols, capacities, reason);
    reason = "sorts and scans have kernels only on GPUs";
    return false;
  }
  const KnownKernels::Known *known = kernels.find(fusion);
  if (!known)
    known = makeKernel(fusion, symbols, kernels, capacities, reason);
  if (!known)
    return false;
  OpBuilder builder(fusion);
  SmallVector<Value> operands;
  for (int input : known->inputs)
    operands.push_back(fusion.getInputs()[static_cast<unsigned>(input)]);
  exec::LaunchOp launch =
      makeLaunch(builder, fusion, known->kernel, operands, fusion.getResultTypes());
  setAliases(launch, known->kernel, capacities);
  fusion.replaceAllUsesWith(launch.getResults());
  if (known->fusion != fusion)
    fusion.erase();
  return true;
}

/// Replaces a fusion by its ops. Wraps each op that can be tiled in a fusion of its own, and
/// returns these fusions.
static SmallVector<exec::FusionOp> fallApart(exec::FusionOp fusion) {
  OpBuilder builder(fusion);
  IRMapping mapping;
  Block &body = fusion.getBody().front();
  mapping.map(body.getArguments(), fusion.getInputs());
  SmallVector<exec::FusionOp> singles;
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    // Do not wrap constants, reshapes (aliases of the same memory) and ops that cannot be tiled.
    if (isa<stablehlo::ConstantOp, stablehlo::ReshapeOp>(op) || !indexing::canTile(&op))
      continue;
    SmallVector<Value> inputs;
    for (OpOperand &operand : indexing::readOperands(copy))
      if (!llvm::is_contained(inputs, operand.get()))
        inputs.push_back(operand.get());
    const bool isUpdate = indexing::updateOf(copy) != Value();
    if (isUpdate) // its memory is an input of its own
      inputs.push_back(copy->getOperand(0));
    std::string name = op.getName().stripDialect().str();
    auto single = exec::FusionOp::create(builder, op.getLoc(), op.getResultTypes(), name, inputs,
                                         builder.getStringAttr("split from a fusion"));
    Block *block = builder.createBlock(&single.getBody());
    IRMapping inside;
    for (Value input : inputs) {
      auto constant = input.getDefiningOp<stablehlo::ConstantOp>();
      Value argument = block->addArgument(input.getType(), input.getLoc());
      auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
      if (!inside.contains(input))
        inside.map(input,
                   dense && dense.isSplat() ? builder.clone(*constant)->getResult(0) : argument);
    }
    Operation *inner = builder.clone(*copy, inside);
    if (isUpdate)
      inner->setOperand(0, block->getArguments().back());
    exec::YieldOp::create(builder, op.getLoc(), inner->getResults());
    builder.setInsertionPoint(fusion);
    copy->replaceAllUsesWith(single.getResults());
    mapping.map(op.getResults(), single.getResults());
    copy->erase();
    singles.push_back(single);
  }
  for (auto [result, value] :
       llvm::zip_equal(fusion.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  fusion.erase();
  return singles;
}

/// Replaces a fusion of a single op by that op.
static void unwrap(exec::FusionOp fusion) {
  OpBuilder builder(fusion);
  IRMapping mapping;
  Block &body = fusion.getBody().front();
  mapping.map(body.getArguments(), fusion.getInputs());
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] :
       llvm::zip_equal(fusion.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  fusion.erase();
}

namespace {
struct TileFusionsPass : impl::TileFusionsPassBase<TileFusionsPass> {
  void runOnOperation() override {
    const Capacities capacities = Capacities::of(exec::targetOf(getOperation()));
    SymbolTable symbols(getOperation());
    KnownKernels kernels;
    // Collect the fusions first, because splitting one creates new ones.
    SmallVector<exec::FusionOp> fusions;
    getOperation().walk([&](exec::FusionOp fusion) { fusions.push_back(fusion); });
    for (exec::FusionOp fusion : fusions) {
      if (interpret::mustStopAt(fusion))
        return signalPassFailure();
      std::string reason;
      if (tileFusion(fusion, symbols, kernels, capacities, reason))
        continue;
      TILEWRIGHT_LOG(DEBUG_TYPE, fusion, "fusion '", fusion.getName(), "' is split: ", reason);
      remark::missed(fusion.getLoc(), remark::RemarkOpts::name("tile-fusion").category(DEBUG_TYPE))
          << remark::reason("fusion '{0}' is split: {1}", fusion.getName(), reason);
      for (exec::FusionOp single : fallApart(fusion)) {
        if (tileFusion(single, symbols, kernels, capacities, reason))
          continue;
        TILEWRIGHT_LOG(DEBUG_TYPE, single, "'", single.getName(),
                       "' does not become a kernel: ", reason);
        remark::missed(single.getLoc(), remark::RemarkOpts::name("tile-op").category(DEBUG_TYPE))
            << remark::reason("'{0}' does not become a kernel: {1}", single.getName(), reason);
        unwrap(single);
      }
    }
    kernels.eraseFusions();
  }
};
} // namespace

} // namespace tilewright::tile
