#include "tools/tilewright-reduce/Reduce.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/evaluate/OpEvaluator.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace mlir;
using tilewright::interpret::Tensor;
using tilewright::numerics::Scalar;

namespace tilewright::tools {

static bool isInside(Operation *op) {
  return !isa<ModuleOp, func::FuncOp>(op) && !op->hasTrait<OpTrait::IsTerminator>();
}

int64_t Subject::ops() const {
  int64_t count = 0;
  module().walk([&](Operation *op) { count += isInside(op); });
  return count;
}

int64_t Subject::elements() const {
  int64_t count = 0;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.hasStaticShape())
      count += tensor.getNumElements();
  };
  module().walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      add(type);
    if (auto function = dyn_cast<func::FuncOp>(op))
      for (Type type : function.getArgumentTypes())
        add(type);
  });
  return count;
}

Tensor usualInput(RankedTensorType type) {
  const interpret::ElementType element = *interpret::elementTypeOf(type.getElementType());
  interpret::Context spending;
  Tensor tensor = *Tensor::allocate(element, *numerics::Shape::create(type.getShape()), spending);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const int64_t number = (i * 37 + 11) % 64 - 32;
    if (numerics::isComplex(element))
      tensor.set(i, Scalar::ofComplex(
                        {static_cast<double>(number) / 8, static_cast<double>(-number) / 16}));
    else if (numerics::isReal(element))
      tensor.set(i, Scalar::ofReal(static_cast<double>(number) / 8));
    else if (element == interpret::ElementType::pred)
      tensor.set(i, Scalar::ofUnsigned(static_cast<uint64_t>(number) & 1));
    else if (numerics::isUnsigned(element))
      tensor.set(i, Scalar::ofUnsigned(static_cast<uint64_t>(number + 32) % 3));
    else
      tensor.set(i, Scalar::ofSigned(number % 2));
  }
  return tensor;
}

namespace {

/// Keeps the first elements of each dimension.
Tensor resized(const Tensor &tensor, ArrayRef<int64_t> dims) {
  interpret::Context spending;
  Tensor made = *Tensor::allocate(tensor.type(), *numerics::Shape::create(dims), spending);
  if (tensor.elementCount() == 0) {
    for (int64_t i = 0; i < made.elementCount(); ++i)
      made.set(i, numerics::zeroOf(made.type()));
    return made;
  }
  const std::vector<int64_t> strides = tensor.shape().strides(),
                             newStrides = made.shape().strides();
  for (int64_t i = 0; i < made.elementCount(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      from +=
          std::min(rest / newStrides[d], tensor.shape()[static_cast<int64_t>(d)] - 1) * strides[d];
      rest %= newStrides[d];
    }
    made.set(i, tensor.at(from));
  }
  return made;
}

class Reducer {
public:
  Reducer(Subject subject, const ReduceSettings &settings)
      : best(std::move(subject)), settings(settings) {}

  Subject run() {
    bool changed = true;
    while (changed) {
      changed = false;
      changed |= eachIndex(
          "result", [&] { return mainOf(best).getNumResults(); },
          [&](Subject &s, size_t i) { return dropResult(s, i); });
      changed |= eachIndex(
          "what makes a result", [&] { return 3 * mainOf(best).getNumResults(); },
          [&](Subject &s, size_t i) { return returnOperand(s, i / 3, i % 3); });
      changed |= dropOps();
      changed |= eachIndex(
          "region", [&] { return best.ops(); },
          [&](Subject &s, size_t i) { return openRegion(s, i); });
      changed |= eachIndex(
          "parameter", [&] { return mainOf(best).getNumArguments(); },
          [&](Subject &s, size_t i) { return dropParameter(s, i); });
      changed |= eachIndex(
          "attribute", [&] { return mainOf(best).getNumArguments(); },
          [&](Subject &s, size_t i) { return dropAttributes(s, i); });
      changed |= eachIndex(
          "numbers", [&] { return best.ops(); },
          [&](Subject &s, size_t i) { return flatten(s, i); });
      changed |= shrinkSizes();
    }
    return std::move(best);
  }

private:
  static func::FuncOp mainOf(const Subject &subject) {
    return subject.module().lookupSymbol<func::FuncOp>("main");
  }
  static std::vector<Operation *> opsOf(const Subject &subject) {
    std::vector<Operation *> ops;
    subject.module().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isInside(op))
        ops.push_back(op);
    });
    return ops;
  }

  /// Replaces the best subject by the candidate if the candidate verifies and is interesting.
  bool accept(Subject candidate, const std::string &what) {
    tidy(candidate);
    ScopedDiagnosticHandler quiet(candidate.module().getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(verify(candidate.module())) || !settings.isInteresting(candidate))
      return false;
    best = std::move(candidate);
    if (settings.progress)
      settings.progress(best, what);
    return true;
  }

  /// Tries `edit` for each index, from the last to the first; returns whether any candidate was
  /// accepted.
  bool eachIndex(const char *what, const std::function<int64_t()> &count,
                 const std::function<bool(Subject &, size_t)> &edit) {
    bool changed = false;
    for (int64_t i = count() - 1; i >= 0; --i) {
      if (i >= count())
        continue;
      Subject candidate = best.clone();
      if (edit(candidate, static_cast<size_t>(i)))
        changed |= accept(std::move(candidate), concat(what, " ", i));
    }
    return changed;
  }

  /// Erases unused ops, then uncalled private functions.
  static void tidy(Subject &subject) {
    bool changed = true;
    while (changed) {
      changed = false;
      std::vector<Operation *> ops = opsOf(subject);
      for (size_t i = ops.size(); i-- > 0;)
        if (ops[i]->use_empty() && ops[i]->getNumResults() > 0) {
          ops[i]->erase();
          changed = true;
          break; // it contained other ops of the list
        }
      if (changed)
        continue;
      for (auto function : llvm::make_early_inc_range(subject.module().getOps<func::FuncOp>()))
        if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, subject.module())) {
          function.erase();
          changed = true;
        }
    }
  }

  static void refreshType(func::FuncOp function) {
    function.setFunctionType(
        FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(),
                          function.getBody().front().getTerminator()->getOperandTypes()));
  }

  static bool dropResult(Subject &subject, size_t i) {
    func::FuncOp main = mainOf(subject);
    if (main.getNumResults() <= 1)
      return false;
    main.getBody().front().getTerminator()->eraseOperand(static_cast<unsigned>(i));
    main.eraseResult(static_cast<unsigned>(i));
    // Donated parameters refer to their result by number, and the numbers after `i` change.
    for (unsigned a = 0; a < main.getNumArguments(); ++a)
      if (auto named = main.getArgAttrOfType<IntegerAttr>(a, "tf.aliasing_output")) {
        const auto result = static_cast<size_t>(named.getInt());
        if (result == i)
          main.removeArgAttr(a, "tf.aliasing_output");
        else if (result > i)
          main.setArgAttr(a, "tf.aliasing_output",
                          IntegerAttr::get(named.getType(), static_cast<int64_t>(result) - 1));
      }
    return true;
  }

  /// Replaces a result of @main by an operand of the op that computes it; the type may change.
  static bool returnOperand(Subject &subject, size_t result, size_t operand) {
    func::FuncOp main = mainOf(subject);
    Operation *end = main.getBody().front().getTerminator();
    Operation *op = end->getOperand(static_cast<unsigned>(result)).getDefiningOp();
    if (!op || operand >= op->getNumOperands() ||
        !isa<RankedTensorType>(op->getOperand(static_cast<unsigned>(operand)).getType()))
      return false;
    end->setOperand(static_cast<unsigned>(result), op->getOperand(static_cast<unsigned>(operand)));
    refreshType(main);
    return true;
  }

  /// A constant of zeros, or of ones if the type cannot represent zero.
  static Value plainConstant(OpBuilder &builder, Location loc, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return {};
    auto element = interpret::elementTypeOf(tensor.getElementType());
    if (!element)
      return {};
    interpret::Context spending;
    auto zeros = Tensor::filled(*element, *numerics::Shape::create(tensor.getShape()),
                                numerics::zeroOf(*element), spending);
    auto value = interpret::attributeOf(*zeros, tensor);
    if (!value)
      return {};
    OperationState state(loc, "stablehlo.constant", ValueRange{}, TypeRange{tensor},
                         {builder.getNamedAttr("value", value)});
    return builder.create(state)->getResult(0);
  }

  /// Replaces every result of `op` by an operand of the same type if `byOperand`, otherwise by
  /// zeros.
  static bool replace(Operation *op, bool byOperand) {
    if (op->getName().getStringRef() == "stablehlo.constant" || op->getNumResults() == 0)
      return false;
    OpBuilder builder(op);
    for (OpResult result : op->getResults()) {
      if (result.use_empty())
        continue;
      Value other;
      if (byOperand) {
        for (Value operand : op->getOperands())
          if (operand.getType() == result.getType()) {
            other = operand;
            break;
          }
      } else {
        other = plainConstant(builder, op->getLoc(), result.getType());
      }
      if (!other)
        return false;
      result.replaceAllUsesWith(other);
    }
    return true;
  }

  /// Removes ranges of half of the ops, a quarter, …, one. Tries large ranges first, because most
  /// of a program is unrelated to the failure.
  bool dropOps() {
    bool changed = false;
    for (size_t size = std::max<size_t>(1, static_cast<size_t>(best.ops()) / 2); size > 0;
         size /= 2)
      for (size_t end = static_cast<size_t>(best.ops()); end > 0;) {
        end = std::min(end, static_cast<size_t>(best.ops()));
        const size_t begin = end > size ? end - size : 0;
        for (bool byOperand : {true, false}) {
          Subject candidate = best.clone();
          std::vector<Operation *> ops = opsOf(candidate);
          bool edited = false;
          for (size_t i = end; i-- > begin;)
            edited |= replace(ops[i], byOperand);
          if (edited && accept(std::move(candidate), size == 1 ? "op" : concat(size, " ops"))) {
            changed = true;
            break;
          }
        }
        end = begin;
      }
    return changed;
  }

  /// Inlines the body of a branch, a loop or a called function in place of the op.
  static bool openRegion(Subject &subject, size_t i) {
    std::vector<Operation *> ops = opsOf(subject);
    if (i >= ops.size())
      return false;
    Operation *op = ops[i];
    const llvm::StringRef name = op->getName().getStringRef();
    Region *region = nullptr;
    if (name == "stablehlo.if" || name == "stablehlo.case")
      region = &op->getRegion(0);
    else if (name == "stablehlo.while")
      region = &op->getRegion(1);
    else if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = subject.module().lookupSymbol<func::FuncOp>(call.getCallee()))
        region = &callee.getBody();
    if (!region || !region->hasOneBlock())
      return false;
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip(region->getArguments(), op->getOperands()))
      mapping.map(argument, operand);
    OpBuilder builder(op);
    for (Operation &inner : region->front().without_terminator())
      builder.clone(inner, mapping);
    for (auto [result, value] :
         llvm::zip(op->getResults(), region->front().getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    return true;
  }

  /// Erases a parameter. Its uses are replaced by a constant of zeros, because the program does not
  /// contain the input's values.
  static bool dropParameter(Subject &subject, size_t i) {
    func::FuncOp main = mainOf(subject);
    BlockArgument argument = main.getArgument(static_cast<unsigned>(i));
    if (!argument.use_empty()) {
      OpBuilder builder = OpBuilder::atBlockBegin(&main.getBody().front());
      Value constant = plainConstant(builder, main.getLoc(), argument.getType());
      if (!constant)
        return false;
      argument.replaceAllUsesWith(constant);
    }
    if (failed(main.eraseArgument(static_cast<unsigned>(i))))
      return false;
    if (i < subject.inputs.size())
      subject.inputs.erase(subject.inputs.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }

  static bool dropAttributes(Subject &subject, size_t i) {
    func::FuncOp main = mainOf(subject);
    if (function_interface_impl::getArgAttrs(main, static_cast<unsigned>(i)).empty())
      return false;
    function_interface_impl::setArgAttrs(main, static_cast<unsigned>(i),
                                         ArrayRef<NamedAttribute>());
    return true;
  }

  /// Replaces a constant by a splat of its first element.
  static bool flatten(Subject &subject, size_t i) {
    std::vector<Operation *> ops = opsOf(subject);
    if (i >= ops.size() || ops[i]->getName().getStringRef() != "stablehlo.constant")
      return false;
    auto value = ops[i]->getAttrOfType<DenseElementsAttr>("value");
    if (!value || value.isSplat() || value.empty())
      return false;
    interpret::Context spending;
    auto tensor = interpret::constantTensor(value, spending);
    if (!tensor.isOk())
      return false;
    auto splat = Tensor::filled(tensor->type(), tensor->shape(), tensor->at(0), spending);
    ops[i]->setAttr("value",
                    interpret::attributeOf(*splat, cast<RankedTensorType>(value.getType())));
    return true;
  }

  /// Replaces the size `from` by the smaller `to` in all dimensions, and in lists of numbers if
  /// `inLists`.
  bool resize(int64_t from, int64_t to, bool inLists) {
    Subject candidate = best.clone();
    ModuleOp module = candidate.module();
    auto changed = [&](ArrayRef<int64_t> dims) {
      SmallVector<int64_t> made(dims);
      std::replace(made.begin(), made.end(), from, to);
      return made;
    };
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
      return RankedTensorType::get(changed(type.getShape()), type.getElementType(),
                                   type.getEncoding());
    });
    module.walk([&](Operation *op) {
      if (op->getName().getStringRef() == "stablehlo.constant") {
        interpret::Context spending;
        auto type = cast<RankedTensorType>(op->getResult(0).getType());
        auto made = RankedTensorType::get(changed(type.getShape()), type.getElementType());
        auto tensor = interpret::constantTensor(op->getAttrOfType<ElementsAttr>("value"), spending);
        if (made != type && tensor.isOk())
          if (auto value = interpret::attributeOf(resized(*tensor, made.getShape()), made))
            op->setAttr("value", value);
      } else if (inLists) {
        for (NamedAttribute attribute : llvm::to_vector(op->getAttrs()))
          if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue()))
            op->setAttr(attribute.getName(),
                        DenseI64ArrayAttr::get(op->getContext(), changed(list)));
      }
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/false, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    module.walk([](func::FuncOp function) { refreshType(function); });
    for (Tensor &input : candidate.inputs) {
      SmallVector<int64_t> dims =
          changed(ArrayRef<int64_t>(input.shape().dims().data(), input.shape().dims().size()));
      input = resized(input, dims);
    }
    return accept(std::move(candidate), concat("size ", from, " to ", to));
  }

  bool shrinkSizes() {
    std::set<int64_t, std::greater<>> sizes;
    for (Operation *op : opsOf(best))
      for (Type type : op->getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          sizes.insert(tensor.getShape().begin(), tensor.getShape().end());
    bool changed = false;
    for (int64_t size : sizes)
      for (int64_t smaller : {int64_t(1), int64_t(2), size / 4, size / 2, size - 1}) {
        if (smaller < 1 || smaller >= size)
          continue;
        if (resize(size, smaller, true) || resize(size, smaller, false)) {
          changed = true;
          break;
        }
      }
    return changed;
  }

  Subject best;
  const ReduceSettings &settings;
};

} // namespace

Subject reduce(Subject subject, const ReduceSettings &settings) {
  return Reducer(std::move(subject), settings).run();
}

} // namespace tilewright::tools
