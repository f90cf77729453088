#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/support/Errors.h"
#include "tilewright/target/cpu/Passes.h"
#include "tilewright/target/cpu/lower/Lowering.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::cpu {

#define GEN_PASS_DEF_CPULOWEROPSPASS
#include "tilewright/target/cpu/Passes.h.inc"

LogicalResult refuse(Operation *op, const Twine &why) {
  return op->emitError() << idOf(Error::cpuLowerOp) << " target: '" << op->getName() << "' " << why;
}

exec::LibraryOp replaceByLibrary(Operation *op, StringRef name, const Config &config,
                                 ArrayRef<Attribute> bodies, ArrayRef<int64_t> aliases) {
  OpBuilder builder(op);
  auto call = exec::LibraryOp::create(
      builder, op->getLoc(), op->getResultTypes(), builder.getStringAttr(name), op->getOperands(),
      config.get(), bodies.empty() ? ArrayAttr() : builder.getArrayAttr(bodies),
      aliases.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(aliases));
  op->replaceAllUsesWith(call);
  op->erase();
  return call;
}

/// Sets the sizes, strides, dilations and paddings that the op omits to their defaults.
static void completeWindow(Operation *op, Config &config, int64_t rank, ArrayRef<StringRef> ones) {
  SmallVector<int64_t> one(rank, 1), none(2 * rank, 0);
  for (StringRef name : ones)
    if (!op->getInherentAttr(name).value_or(Attribute()))
      config.set(name, one);
  if (!op->getInherentAttr("padding").value_or(Attribute()))
    config.set("padding", none);
}

namespace {

class LowerOps {
public:
  LowerOps(Lowering &state, Operation *op) : state(state), op(op), config(op->getContext()) {}

  LogicalResult lower() {
    config.flattenAll(op);
    name = op->getName().stripDialect();
    int64_t rank = 0;
    if (op->getNumOperands())
      if (auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType()))
        rank = type.getRank();
    if (auto sort = dyn_cast<stablehlo::SortOp>(op))
      return lowerSort(sort, rank);
    if (isa<stablehlo::ReduceOp>(op)) {
      StringRef arg = Lowering::argWord(op->getRegion(0));
      if (!arg.empty()) {
        config.set("body", arg);
        return finish();
      }
      return lowerBody("body", 0);
    }
    if (isa<stablehlo::ReduceWindowOp>(op)) {
      completeWindow(op, config, rank, {"window_strides", "base_dilations", "window_dilations"});
      return lowerBody("body", 0);
    }
    if (isa<stablehlo::SelectAndScatterOp>(op)) {
      completeWindow(op, config, rank, {"window_dimensions", "window_strides"});
      StringRef select = Lowering::selectWord(op->getRegion(0));
      config.set("select", select);
      if (select == "function" && failed(bind(op->getRegion(0))))
        return failure();
      return lowerBody("scatter", 1);
    }
    if (isa<stablehlo::ScatterOp>(op)) {
      // The operands that are scattered into become the results, in place.
      for (int64_t i = 0; i < int64_t(op->getNumResults()); ++i)
        aliases.append({i, i});
      return lowerBody("body", 0);
    }
    if (isa<stablehlo::DynamicUpdateSliceOp>(op))
      aliases = {0, 0};
    if (isa<stablehlo::ConvolutionOp>(op)) {
      int64_t spatial = rank - 2;
      completeWindow(op, config, spatial, {"window_strides", "lhs_dilation", "rhs_dilation"});
      if (!op->getInherentAttr("window_reversal").value_or(Attribute()))
        config.set("window_reversal", SmallVector<int64_t>(spatial, 0));
    }
    if (isa<stablehlo::MapOp>(op))
      return lowerBody("body", 0);
    if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
      if (composite.getName() != "chlo.top_k")
        return refuse(op, "'" + composite.getName() + "' should have been inlined by simplify");
      Config own(op->getContext());
      if (std::optional<DictionaryAttr> attributes = composite.getCompositeAttributes())
        for (NamedAttribute entry : *attributes)
          own.flatten(entry.getName(), entry.getValue());
      replaceByLibrary(op, "top_k", own);
      return success();
    }
    return finish();
  }

private:
  Lowering &state;
  Operation *op;
  Config config;
  StringRef name;
  SmallVector<Attribute> bodies;
  SmallVector<int64_t> aliases;

  LogicalResult finish() {
    replaceByLibrary(op, name, config, bodies, aliases);
    return success();
  }

  LogicalResult bind(Region &region) {
    FailureOr<FlatSymbolRefAttr> function = state.functionOf(region);
    if (failed(function))
      return failure();
    bodies.push_back(*function);
    return success();
  }

  LogicalResult lowerBody(StringRef attribute, unsigned region) {
    StringRef word = Lowering::combinerWord(op->getRegion(region));
    config.set(attribute, word);
    if (word == "function" && failed(bind(op->getRegion(region))))
      return failure();
    return finish();
  }

  LogicalResult lowerSort(stablehlo::SortOp sort, int64_t rank) {
    int64_t dimension = sort.getDimension();
    config.set("dimension", dimension < 0 ? dimension + rank : dimension);
    config.set("is_stable", int64_t(sort.getIsStable()));
    Lowering::Comparator comparator = Lowering::comparatorOf(op->getRegion(0));
    config.set("comparator", comparator.word);
    if (comparator.word == "function") {
      if (failed(bind(op->getRegion(0))))
        return failure();
    } else {
      config.set("comparator_operand", comparator.operand);
      // A canonical comparator treats both zeros, and all NaNs, as equal. That is the library's
      // order if comparator_total_order is 0.
      config.set("comparator_total_order",
                 int64_t(comparator.isTotalOrder && !comparator.isCanonical));
    }
    // With several operands, the others are permuted by the order of the first, which reads and
    // writes different positions. So only a single operand can be sorted in place.
    if (op->getNumResults() == 1)
      aliases.append({0, 0});
    return finish();
  }
};

/// Ops that the library implements under their StableHLO names.
bool isLibraryOp(Operation *op) {
  using namespace stablehlo;
  return isa<BroadcastInDimOp, ConcatenateOp, PadOp, ReverseOp, SliceOp, TransposeOp, IotaOp,
             RngBitGeneratorOp, RngOp, DynamicSliceOp, DynamicUpdateSliceOp, GatherOp, ScatterOp,
             DotGeneralOp, ConvolutionOp, CholeskyOp, TriangularSolveOp, FftOp, ReduceOp,
             ReduceWindowOp, SelectAndScatterOp, SortOp, MapOp, CompositeOp>(op);
}

bool isCollective(Operation *op) {
  using namespace stablehlo;
  return isa<AllGatherOp, AllReduceOp, AllToAllOp, ReduceScatterOp, CollectiveBroadcastOp,
             CollectiveReduceOp, CollectivePermuteOp, CrossReplicaSumOp, PartitionIdOp,
             ReplicaIdOp>(op);
}

/// Ops that are left to the schedule stage: memory and control flow.
bool isKept(Operation *op) {
  using namespace stablehlo;
  return isa<ConstantOp, WhileOp, IfOp, CaseOp, ReturnOp, ReshapeOp, CreateTokenOp, AfterAllOp>(op);
}

/// A bitcast is a view of the same bytes, unless elements are smaller than a byte.
bool isView(Operation *op) {
  if (!isa<stablehlo::BitcastConvertOp>(op))
    return false;
  auto width = [](Value value) {
    return cast<ShapedType>(value.getType()).getElementType().isIntOrFloat()
               ? cast<ShapedType>(value.getType()).getElementTypeBitWidth()
               : 64u;
  };
  return width(op->getOperand(0)) >= 8 && width(op->getResult(0)) >= 8;
}

/// Whether object code may refer to a library symbol of this name: a kernel with the same name
/// would be called instead.
bool isReserved(StringRef name) {
  static const llvm::StringSet<> functions = {
      "acos",  "acosh", "asin",      "asinh", "atan",  "atan2",  "atanh",     "cbrt",
      "ceil",  "cos",   "cosh",      "erf",   "erfc",  "exp",    "exp2",      "expm1",
      "fabs",  "floor", "fma",       "fmax",  "fmin",  "fmod",   "log",       "log10",
      "log1p", "log2",  "nearbyint", "pow",   "rint",  "round",  "roundeven", "sin",
      "sinh",  "sqrt",  "tan",       "tanh",  "trunc", "memcpy", "memmove",   "memset"};
  return functions.contains(name) ||
         (name.ends_with("f") && functions.contains(name.drop_back())) ||
         name.starts_with("tw_scalar");
}

struct CpuLowerOps : impl::CpuLowerOpsPassBase<CpuLowerOps> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Lowering state(getOperation(), symbols);
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>()))
      if (isReserved(kernel.getSymName())) {
        std::string name = ("kernel_" + kernel.getSymName()).str();
        while (symbols.lookup(name))
          name += "_";
        if (mlir::failed(symbols.rename(kernel, name)))
          return signalPassFailure();
      }
    // Collect first, because lowering adds kernels and functions, and erases regions of lowered
    // ops.
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        collect(function.getBody(), ops);
    bool failed = false;
    for (Operation *op : ops) {
      if (interpret::mustStopAt(op))
        return signalPassFailure();
      failed |= mlir::failed(lower(state, op));
    }
    if (failed)
      signalPassFailure();
  }

  /// Collects the ops that are steps of the host's plan, including those in the bodies of control
  /// flow, but not those in combiners.
  static void collect(Region &region, SmallVectorImpl<Operation *> &ops) {
    for (Operation &op : region.getOps()) {
      if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op)) {
        for (Region &inner : op.getRegions())
          collect(inner, ops);
      } else if (isa_and_nonnull<stablehlo::StablehloDialect>(op.getDialect())) {
        ops.push_back(&op);
      }
    }
  }

  LogicalResult lower(Lowering &state, Operation *op) {
    if (isKept(op) || isView(op))
      return success();
    if (isa<stablehlo::OptimizationBarrierOp>(op)) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
      return success();
    }
    if (isa<stablehlo::CustomCallOp>(op))
      return state.lowerCustomCall(op);
    if (isCollective(op))
      return state.lowerCollective(op);
    if (isLibraryOp(op)) {
      ++numLibrary;
      return LowerOps(state, op).lower();
    }
    if (elements::canExpress(op)) {
      ++numKernels;
      return state.lowerElementwise(op);
    }
    return refuse(op, "has no kernel in the CPU runtime's library; "
                      "transform/simplify should have expanded it");
  }
};

} // namespace

void buildLowerPipeline(OpPassManager &passes) { passes.addPass(createCpuLowerOpsPass()); }

} // namespace tilewright::cpu
