#include "test/random/Mutate.h"

#include "test/random/Generator.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/evaluate/OpEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Verifier.h"

#include <vector>

using namespace mlir;

namespace tilewright::random {
namespace {

class Mutator {
public:
  Mutator(ModuleOp module, Draw &draw) : module(module), draw(draw), context(module.getContext()) {
    module.walk([&](Operation *op) {
      if (op->getName().getStringRef().starts_with("stablehlo."))
        ops.push_back(op);
    });
  }

  /// Makes one change and describes it; empty if nothing could be changed.
  std::string once() {
    if (ops.empty())
      return "";
    switch (draw.below(8)) {
    case 0:
    case 1:
      return rewire();
    case 2:
    case 3:
      return exchange();
    case 4:
      return changeAttribute();
    case 5:
      return changeConstant();
    case 6:
      return draw.oneIn(2) ? changeSize() : changeElement();
    default:
      return leaveOut();
    }
  }

private:
  /// Another value of this type that is visible at `op`.
  Value another(Operation *op, Value than) {
    std::vector<Value> fitting;
    DominanceInfo dominance;
    auto take = [&](Value value) {
      if (value != than && value.getType() == than.getType() &&
          dominance.properlyDominates(value, op))
        fitting.push_back(value);
    };
    for (Operation *outer = op; outer && !isa<ModuleOp>(outer); outer = outer->getParentOp())
      if (Block *block = outer->getBlock())
        for (BlockArgument argument : block->getArguments())
          take(argument);
    for (Operation *other : ops)
      if (other->getParentOfType<func::FuncOp>() == op->getParentOfType<func::FuncOp>())
        for (Value result : other->getResults())
          take(result);
    return fitting.empty() ? Value() : draw.pick(fitting);
  }

  std::string rewire() {
    Operation *op = draw.pick(ops);
    if (op->getNumOperands() == 0)
      return "";
    const auto i = static_cast<unsigned>(draw.below(op->getNumOperands()));
    Value other = another(op, op->getOperand(i));
    if (!other)
      return "";
    op->setOperand(i, other);
    return "operand of " + op->getName().getStringRef().str();
  }

  /// Renames an op, with the same operands, results, attributes and regions.
  std::string exchange() {
    static constexpr const char *unary[] = {"abs",
                                            "negate",
                                            "sign",
                                            "ceil",
                                            "floor",
                                            "cbrt",
                                            "cosine",
                                            "exponential",
                                            "log",
                                            "logistic",
                                            "rsqrt",
                                            "sine",
                                            "sqrt",
                                            "tan",
                                            "tanh",
                                            "not",
                                            "popcnt",
                                            "count_leading_zeros",
                                            "round_nearest_even",
                                            "exponential_minus_one",
                                            "log_plus_one",
                                            "convert",
                                            "reshape",
                                            "real",
                                            "imag",
                                            "bitcast_convert",
                                            "optimization_barrier"};
    static constexpr const char *binary[] = {"add",
                                             "subtract",
                                             "multiply",
                                             "divide",
                                             "maximum",
                                             "minimum",
                                             "power",
                                             "remainder",
                                             "atan2",
                                             "and",
                                             "or",
                                             "xor",
                                             "shift_left",
                                             "shift_right_arithmetic",
                                             "shift_right_logical",
                                             "complex"};
    Operation *op = draw.pick(ops);
    if (op->getNumRegions() || op->getNumResults() != 1 || op->getNumOperands() < 1 ||
        op->getNumOperands() > 2)
      return "";
    const std::string name = std::string("stablehlo.") +
                             (op->getNumOperands() == 1 ? draw.pick(unary) : draw.pick(binary));
    OpBuilder builder(op);
    OperationState state(op->getLoc(), name, op->getOperands(), op->getResultTypes());
    Operation *made = builder.create(state);
    op->replaceAllUsesWith(made->getResults());
    const std::string before = op->getName().getStringRef().str();
    op->erase();
    return before + " became " + name;
  }

  Attribute changed(Attribute attribute) {
    const int64_t delta = draw.oneOf<int64_t>({-1, 1, 1, 2, -2, 7, -100, 1000000});
    if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute)) {
      llvm::SmallVector<int64_t> values(array.asArrayRef());
      if (values.empty())
        return {};
      if (draw.oneIn(3))
        std::swap(draw.pick(values), draw.pick(values));
      else
        draw.pick(values) += delta;
      return DenseI64ArrayAttr::get(context, values);
    }
    if (auto flag = dyn_cast<BoolAttr>(attribute))
      return BoolAttr::get(context, !flag.getValue());
    if (auto integer = dyn_cast<IntegerAttr>(attribute))
      return IntegerAttr::get(integer.getType(),
                              integer.getValue() +
                                  APInt(integer.getValue().getBitWidth(), delta, true, true));
    if (auto elements = dyn_cast<DenseIntElementsAttr>(attribute); elements && !elements.empty()) {
      llvm::SmallVector<APInt> values(elements.getValues<APInt>());
      APInt &one = draw.pick(values);
      one += APInt(one.getBitWidth(), delta, true, true);
      return DenseIntElementsAttr::get(elements.getType(), values);
    }
    return {};
  }

  std::string changeAttribute() {
    Operation *op = draw.pick(ops);
    if (op->getName().getStringRef() == "stablehlo.constant")
      return "";
    llvm::SmallVector<NamedAttribute> all(op->getAttrs());
    if (all.empty())
      return "";
    NamedAttribute chosen = draw.pick(all);
    Attribute other = changed(chosen.getValue());
    if (!other) {
      // Copies the attribute from another op that has it, perhaps with another value.
      std::vector<Attribute> others;
      for (Operation *candidate : ops)
        if (Attribute there = candidate->getAttr(chosen.getName());
            there && there != chosen.getValue() && candidate->getName() == op->getName())
          others.push_back(there);
      if (others.empty())
        return "";
      other = draw.pick(others);
    }
    op->setAttr(chosen.getName(), other);
    return chosen.getName().str() + " of " + op->getName().getStringRef().str();
  }

  std::string changeConstant() {
    std::vector<Operation *> constants;
    for (Operation *op : ops)
      if (op->getName().getStringRef() == "stablehlo.constant")
        constants.push_back(op);
    if (constants.empty())
      return "";
    Operation *op = draw.pick(constants);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto element = interpret::elementTypeOf(type.getElementType());
    interpret::Tensor numbers =
        drawTensor(draw, *element, type.getShape(),
                   draw.oneOf({Numbers::edges, Numbers::small, Numbers::nothing, Numbers::indices,
                               Numbers::wide}));
    op->setAttr("value", interpret::attributeOf(numbers, type));
    return "constant";
  }

  void replaceTypes(llvm::function_ref<std::optional<Type>(RankedTensorType)> with) {
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](RankedTensorType type) -> std::optional<Type> { return with(type); });
    // Constants must be converted to their new type.
    for (Operation *op : ops) {
      if (op->getName().getStringRef() != "stablehlo.constant")
        continue;
      auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
      if (auto made = type ? with(type) : std::nullopt) {
        auto to = cast<RankedTensorType>(*made);
        auto element = interpret::elementTypeOf(to.getElementType());
        op->setAttr("value", interpret::attributeOf(
                                 drawTensor(draw, *element, to.getShape(), Numbers::small), to));
      }
    }
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/false, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    module.walk([&](func::FuncOp function) {
      function.setFunctionType(
          FunctionType::get(context, function.getBody().getArgumentTypes(),
                            function.getBody().front().getTerminator()->getOperandTypes()));
    });
  }

  /// Replaces one size by another wherever it is a dimension.
  std::string changeSize() {
    std::vector<int64_t> sizes;
    for (Operation *op : ops)
      for (Type type : op->getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          sizes.insert(sizes.end(), tensor.getShape().begin(), tensor.getShape().end());
    if (sizes.empty())
      return "";
    const int64_t from = draw.pick(sizes), to = draw.oneOf<int64_t>({0, 1, 2, 3, 5, 9, 64});
    replaceTypes([&](RankedTensorType type) -> std::optional<Type> {
      llvm::SmallVector<int64_t> dims(type.getShape());
      std::replace(dims.begin(), dims.end(), from, to);
      int64_t volume = 1;
      for (int64_t dim : dims)
        volume *= dim;
      return volume > 4096 ? type : RankedTensorType::get(dims, type.getElementType());
    });
    return "size " + std::to_string(from) + " became " + std::to_string(to);
  }

  std::string changeElement() {
    static constexpr const char *names[] = {"f32",          "f64", "f16",      "bf16", "i32",
                                            "i64",          "ui8", "ui32",     "i8",   "i1",
                                            "complex<f32>", "i4",  "f8E4M3FN", "ui64"};
    Operation *op = draw.pick(ops);
    if (op->getNumResults() == 0)
      return "";
    auto tensor = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!tensor)
      return "";
    Type from = tensor.getElementType(),
         to = interpret::typeOf(*numerics::elementTypeNamed(draw.pick(names)), *context);
    replaceTypes([&](RankedTensorType type) -> std::optional<Type> {
      return type.getElementType() == from ? RankedTensorType::get(type.getShape(), to) : type;
    });
    return "element type exchanged";
  }

  std::string leaveOut() {
    Operation *op = draw.pick(ops);
    if (op->getNumResults() != 1 || op->use_empty())
      return "";
    Value other = another(op, op->getResult(0));
    if (!other)
      return "";
    op->getResult(0).replaceAllUsesWith(other);
    return op->getName().getStringRef().str() + " left out";
  }

  ModuleOp module;
  Draw &draw;
  MLIRContext *context;
  std::vector<Operation *> ops;
};

} // namespace

std::string mutate(ModuleOp &module, Draw &draw, int changes) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  std::string done;
  for (int i = 0, made = 0; i < 8 * changes && made < changes; ++i) {
    ModuleOp before = module.clone();
    const std::string what = Mutator(module, draw).once();
    if (what.empty() || failed(verify(module))) {
      module->erase();
      module = before;
      continue;
    }
    before->erase();
    ++made;
    done += (done.empty() ? "" : "; ") + what;
  }
  return done;
}

} // namespace tilewright::random
