// Fuses elementwise fusions into the matmul that they read, as its epilogue.
#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/target/cpu/Passes.h"
#include "tilewright/target/cpu/emit/EpilogueEmitter.h"
#include "tilewright/target/cpu/lower/Lowering.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tilewright::cpu {

#define GEN_PASS_DEF_CPUFUSEEPILOGUESPASS
#include "tilewright/target/cpu/Passes.h.inc"

namespace {

/// Whether the library multiplies: a dot_general, or a scaled_dot, whose first operands are lhs and
/// rhs, too.
bool isProduct(Operation *op) { return isa<stablehlo::DotGeneralOp, exec::ScaledDotOp>(op); }

/// The result of a matmul as a matrix: rows are the batch and the free dimensions of lhs, columns
/// those of rhs.
struct Matrix {
  int64_t rows = 1, columns = 1;

  explicit Matrix(Operation *product) {
    auto lhs = cast<RankedTensorType>(product->getOperand(0).getType());
    auto result = cast<RankedTensorType>(product->getResult(0).getType());
    auto dot = dyn_cast<stablehlo::DotGeneralOp>(product);
    const size_t summed =
        dot ? dot.getDotDimensionNumbers().getLhsContractingDimensions().size() : 1;
    const int64_t leading = lhs.getRank() - static_cast<int64_t>(summed);
    for (auto [dim, size] : llvm::enumerate(result.getShape()))
      (static_cast<int64_t>(dim) < leading ? rows : columns) *= size;
  }
};

/// Which elements of the matrix a value has: one per element, per row or per column, or a single
/// one.
enum class View { all, eachRow, eachColumn, single };

int64_t countOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// Whether an op may be recomputed for each element of the matrix.
bool isCheap(Operation *op) {
  return isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp, stablehlo::NegateOp,
             stablehlo::ConvertOp>(op);
}

/// The library's accumulator type; null if it does not support an epilogue.
Type sumsOf(Operation *product) {
  auto elementOf = [](Value value) { return cast<ShapedType>(value.getType()).getElementType(); };
  Type result = elementOf(product->getResult(0));
  if (!result.isF32() && !result.isF64() && !result.isBF16() && !result.isF16())
    return {};
  const bool isWide = result.isF64() || llvm::any_of(product->getOperands(), [&](Value operand) {
                        return elementOf(operand).isF64();
                      });
  Builder builder(product->getContext());
  return isWide ? builder.getF64Type() : builder.getF32Type();
}

/// Turns a fusion that reads a matmul into a scalar function: it computes one element of each
/// result from the sum and from elements of the other inputs.
class EpilogueBuilder {
public:
  EpilogueBuilder(exec::FusionOp fusion, BlockArgument product, Matrix matrix, Type sums)
      : fusion(fusion), product(product), matrix(matrix), sums(sums) {}

  /// The inputs of the epilogue other than the product. The function takes the sum first, then one
  /// element of each of these, in this order.
  SmallVector<Value> inputs;
  std::string problem; // why there is no epilogue

  func::FuncOp build(StringRef name) {
    OpBuilder builder(fusion.getContext());
    Location loc = fusion.getLoc();
    Operation *yield = fusion.getBody().front().getTerminator();
    SmallVector<Type> results;
    for (Value value : yield->getOperands())
      results.push_back(
          elements::scalarType(cast<RankedTensorType>(value.getType()).getElementType()));
    function = func::FuncOp::create(loc, name, builder.getFunctionType({sums}, results));
    function.setPrivate();
    Block *block = function.addEntryBlock();
    body.emplace(OpBuilder::atBlockEnd(block));
    SmallVector<Value> values;
    for (Value value : yield->getOperands()) {
      if (countOf(value) != matrix.rows * matrix.columns)
        return fail("a result does not have as many elements as the product");
      Value element = elementOf(value, View::all);
      if (!element)
        return fail("");
      values.push_back(element);
      addStrides(View::all);
    }
    func::ReturnOp::create(*body, loc, values);
    function.setType(builder.getFunctionType(block->getArgumentTypes(), results));
    function->setAttr(epilogueAttribute, builder.getDenseI64ArrayAttr(orderedStrides()));
    return function;
  }

private:
  exec::FusionOp fusion;
  BlockArgument product;
  Matrix matrix;
  Type sums;
  func::FuncOp function;
  std::optional<OpBuilder> body;
  DenseMap<std::pair<Value, int>, Value> known;
  SmallVector<int64_t> inputStrides, resultStrides;

  func::FuncOp fail(const Twine &why) {
    if (problem.empty())
      problem = why.str();
    function.erase();
    return {};
  }
  Value refuse(const Twine &why) {
    if (problem.empty())
      problem = why.str();
    return {};
  }
  SmallVector<int64_t> orderedStrides() const {
    SmallVector<int64_t> all(inputStrides);
    all.append(resultStrides);
    return all;
  }
  std::array<int64_t, 2> stridesOf(View view) const {
    switch (view) {
    case View::all:
      return {matrix.columns, 1};
    case View::eachRow:
      return {1, 0};
    case View::eachColumn:
      return {0, 1};
    case View::single:
      return {0, 0};
    }
    return {0, 0};
  }
  void addStrides(View view) { llvm::append_range(resultStrides, stridesOf(view)); }

  /// One element of `value`, which has an element for each element of `view`.
  Value elementOf(Value value, View view) {
    auto [place, isNew] = known.try_emplace({value, static_cast<int>(view)});
    if (!isNew)
      return place->second;
    Value element = makeElement(value, view);
    known[{value, static_cast<int>(view)}] = element;
    return element;
  }

  Value makeElement(Value value, View view) {
    Location loc = value.getLoc();
    if (auto argument = dyn_cast<BlockArgument>(value))
      return load(argument, view);
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      Value splat = elements::emitConstant(*body, loc, cast<ElementsAttr>(constant.getValue()));
      return splat ? splat : refuse("it reads a constant that is not a splat");
    }
    if (isa<stablehlo::ReshapeOp>(op))
      return elementOf(op->getOperand(0), view);
    if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      std::optional<View> under = viewUnder(broadcast, view);
      return under ? elementOf(broadcast.getOperand(), *under)
                   : refuse("it broadcasts along neither rows nor columns");
    }
    if (!elements::canExpress(op))
      return refuse("it contains " + op->getName().getStringRef());
    if (view != View::all && !isCheap(op))
      return refuse("it computes " + op->getName().getStringRef() +
                    " before a broadcast, which would repeat it for each element");
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      // A scalar operand next to tensors, as in clamp and select.
      const bool isScalar = countOf(operand) == 1 && countOf(value) != 1;
      Value element = elementOf(operand, isScalar ? View::single : view);
      if (!element)
        return {};
      operands.push_back(element);
    }
    return elements::emitElement(*body, op, operands);
  }

  Value load(BlockArgument argument, View view) {
    Type type = cast<RankedTensorType>(argument.getType()).getElementType();
    if (argument == product) {
      if (view != View::all)
        return refuse("it reads the product through a broadcast");
      Value sum = function.getArgument(0);
      return type == sums ? sum
                          : elements::emitConversion(*body, argument.getLoc(), sums, type, sum);
    }
    Type scalar = elements::scalarType(type);
    if (!scalar)
      return refuse("an input has an element type that kernels do not support");
    llvm::append_range(inputStrides, stridesOf(view));
    inputs.push_back(fusion.getInputs()[argument.getArgNumber()]);
    return function.getBody().front().addArgument(scalar, argument.getLoc());
  }

  /// The view of a broadcast's operand.
  std::optional<View> viewUnder(stablehlo::BroadcastInDimOp broadcast, View view) {
    Value operand = broadcast.getOperand();
    if (countOf(operand) == 1)
      return View::single;
    ArrayRef<int64_t> from = cast<RankedTensorType>(operand.getType()).getShape();
    ArrayRef<int64_t> to = cast<RankedTensorType>(broadcast.getType()).getShape();
    SmallVector<bool> isKept(to.size(), false);
    int64_t last = -1;
    for (auto [size, dim] : llvm::zip(from, broadcast.getBroadcastDimensions())) {
      if (size == 1)
        continue;
      if (dim < last)
        return std::nullopt; // transposed
      last = dim;
      isKept[dim] = true;
    }
    // The dimensions that the operand has must be leading or trailing; dimensions of size 1 are
    // ignored.
    const bool keepsAll = countOf(operand) == countOf(broadcast.getResult());
    if (keepsAll)
      return view;
    if (view != View::all)
      return std::nullopt;
    SmallVector<bool> pattern;
    for (auto [size, kept] : llvm::zip(to, isKept))
      if (size != 1 && (pattern.empty() || pattern.back() != kept))
        pattern.push_back(kept);
    if (pattern.size() != 2)
      return std::nullopt;
    if (pattern[0] && countOf(operand) == matrix.rows)
      return View::eachRow;
    if (pattern[1] && countOf(operand) == matrix.columns)
      return View::eachColumn;
    return std::nullopt;
  }
};

/// The matmul that computes `value`, possibly reshaped, if its result has no other reader.
Operation *productOf(Value value) {
  while (value.hasOneUse()) {
    Operation *op = value.getDefiningOp();
    if (op && isProduct(op))
      return op;
    if (!isa_and_nonnull<stablehlo::ReshapeOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
}

struct CpuFuseEpilogues : impl::CpuFuseEpiloguesPassBase<CpuFuseEpilogues> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::StringMap<FlatSymbolRefAttr> functions; // by their text
    // Collect first, because fused ops are erased.
    SmallVector<exec::FusionOp> fusions;
    getOperation().walk([&](exec::FusionOp fusion) { fusions.push_back(fusion); });
    for (exec::FusionOp fusion : fusions)
      fuse(fusion, symbols, functions);
    // Only the library multiplies with scales, so these become calls before the next stage sees
    // them.
    SmallVector<exec::ScaledDotOp> scaled;
    getOperation().walk([&](exec::ScaledDotOp dot) { scaled.push_back(dot); });
    for (exec::ScaledDotOp dot : scaled) {
      OpBuilder builder(dot);
      auto call = createProduct(builder, dot.getLoc(), TypeRange(dot.getType()), dot, {}, {}, {});
      dot->replaceAllUsesWith(call.getOperation());
      dot.erase();
    }
  }

  void fuse(exec::FusionOp fusion, SymbolTable &symbols,
            llvm::StringMap<FlatSymbolRefAttr> &functions) {
    auto opts = remark::RemarkOpts::name("epilogue").category("fuse");
    // If there are several matmuls, take the last one: the others have completed when it runs.
    Operation *dot = nullptr;
    BlockArgument product;
    for (auto [number, input] : llvm::enumerate(fusion.getInputs())) {
      Operation *candidate = productOf(input);
      if (candidate && candidate->getBlock() == fusion->getBlock() && sumsOf(candidate) &&
          countOf(candidate->getResult(0)) > 0 && (!dot || dot->isBeforeInBlock(candidate))) {
        dot = candidate;
        product = fusion.getBody().front().getArgument(static_cast<unsigned>(number));
      }
    }
    if (!dot)
      return;
    std::string name = ("epilogue_" + Twine(functions.size())).str();
    while (symbols.lookup(name))
      name += "_";
    EpilogueBuilder epilogue(fusion, product, Matrix(dot), sumsOf(dot));
    func::FuncOp function = epilogue.build(name);
    if (!function) {
      remark::missed(fusion.getLoc(), opts)
          << remark::add("'{0}' is not an epilogue of its product", fusion.getName().str())
          << remark::reason("{0}", epilogue.problem);
      return;
    }
    remark::passed(fusion.getLoc(), opts)
        << remark::add("'{0}' becomes the epilogue of its product", fusion.getName().str())
        << remark::reason("{0}", "the product is not written to memory");
    replace(fusion, dot, epilogue.inputs, shared(function, symbols, functions));
  }

  /// Inserts the function, or returns an equal one that was inserted before. Equal functions have
  /// the same text except for their names.
  static FlatSymbolRefAttr shared(func::FuncOp function, SymbolTable &symbols,
                                  llvm::StringMap<FlatSymbolRefAttr> &functions) {
    std::string name = function.getSymName().str(), text;
    function.setSymName("");
    llvm::raw_string_ostream(text) << function;
    function.setSymName(name);
    auto [known, isNew] = functions.try_emplace(text, FlatSymbolRefAttr::get(function));
    if (isNew)
      symbols.insert(function);
    else
      function.erase();
    return known->second;
  }

  static void replace(exec::FusionOp fusion, Operation *dot, ArrayRef<Value> inputs,
                      FlatSymbolRefAttr function) {
    OpBuilder builder(fusion);
    Type product = cast<ShapedType>(dot->getResult(0).getType()).getElementType();
    auto call = createProduct(builder, fusion.getLoc(), fusion.getResultTypes(), dot, inputs,
                              TypeAttr::get(product), builder.getArrayAttr({function}));
    fusion->replaceAllUsesWith(call.getOperation());
    fusion->erase();
    // Erase the matmul and the reshapes of its result.
    Operation *unused = dot;
    SmallVector<Operation *> chain;
    for (; unused; unused = unused->use_empty() ? nullptr : *unused->user_begin())
      chain.push_back(unused);
    for (Operation *op : llvm::reverse(chain))
      op->erase();
  }
};

} // namespace

} // namespace tilewright::cpu
