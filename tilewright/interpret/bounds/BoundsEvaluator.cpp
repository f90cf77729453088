#include "tilewright/interpret/bounds/BoundsEvaluator.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace tilewright::interpret {

bool Bounded::isExact() const {
  return std::ranges::all_of(bounds, [](double bound) { return bound == 0; }) &&
         std::ranges::all_of(elements, [](const Bounded &element) { return element.isExact(); });
}

static Bounded exactly(RuntimeValue value) {
  Bounded bounded;
  if (value.isTensor())
    bounded.bounds.assign(static_cast<size_t>(value.tensor().elementCount()), 0.0);
  if (value.isTuple())
    for (const RuntimeValue &element : value.elements())
      bounded.elements.push_back(exactly(element));
  bounded.value = std::move(value);
  return bounded;
}

static void forget(Bounded &bounded) {
  std::ranges::fill(bounded.bounds, unknown);
  for (Bounded &element : bounded.elements)
    forget(element);
}

BoundsEvaluator::BoundsEvaluator(ModuleOp module, const Allowance &allowance,
                                 const InterpretOptions &limits)
    : module(module), symbols(module), allowance(allowance), limits(limits), ops(module),
      context(limits), scratch(std::make_unique<Block>()) {}

Result<std::vector<Bounded>> BoundsEvaluator::call(llvm::StringRef name,
                                                   std::vector<Bounded> inputs) {
  auto function = symbols.lookup<func::FuncOp>(name);
  if (!function || function.getNumArguments() != inputs.size())
    return Status(Error::interpretFunction, concat("the module has no function @", name.str(),
                                                   " with ", inputs.size(), " inputs"));
  if (++depth > limits.maxCallDepth)
    return Status(Error::interpretDepth, "calls are nested too deeply");
  Frame frame;
  auto results = runRegion(function.getBody(), inputs, frame);
  --depth;
  return results;
}

Result<BoundsEvaluator::Results>
BoundsEvaluator::runRegion(Region &region, const Operands &arguments, Frame &frame) {
  Block &block = region.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    frame[argument] = value;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      Results results;
      for (Value operand : op.getOperands())
        results.push_back(frame.at(operand));
      return results;
    }
    TILEWRIGHT_ASSIGN(Results results, runOp(&op, frame));
    for (auto [result, value] : llvm::zip(op.getResults(), results))
      frame[result] = std::move(value);
  }
  return Status(Code::internal, "a region has no terminator");
}

Result<BoundsEvaluator::Results> BoundsEvaluator::runLoop(Operation *op, Operands state,
                                                          Frame &frame) {
  while (true) {
    TILEWRIGHT_TRY(context.countSteps(1));
    TILEWRIGHT_ASSIGN(Results condition, runRegion(op->getRegion(0), state, frame));
    const bool goesOn = condition[0].tensor().at(0).u != 0;
    if (!condition[0].isExact()) {
      // Another implementation may run more or fewer iterations, so all values are unknown and only
      // their types matter.
      for (Bounded &value : state)
        forget(value);
      return state;
    }
    if (!goesOn)
      return state;
    TILEWRIGHT_ASSIGN(state, runRegion(op->getRegion(1), state, frame));
  }
}

Result<BoundsEvaluator::Results> BoundsEvaluator::runBranch(Operation *op, const Operands &operands,
                                                            Frame &frame) {
  const Tensor &selector = operands[0].tensor();
  int64_t chosen = selector.indexAt(0);
  if (op->getName().getStringRef() == "stablehlo.if")
    chosen = chosen ? 0 : 1;
  else if (chosen < 0 || chosen >= op->getNumRegions())
    chosen = op->getNumRegions() - 1;
  TILEWRIGHT_ASSIGN(Results results,
                    runRegion(op->getRegion(static_cast<unsigned>(chosen)), {}, frame));
  if (!operands[0].isExact())
    for (Bounded &result : results)
      forget(result);
  return results;
}

Result<BoundsEvaluator::Results> BoundsEvaluator::runOp(Operation *op, Frame &frame) {
  const llvm::StringRef name = op->getName().getStringRef();
  Operands operands;
  for (Value operand : op->getOperands())
    operands.push_back(frame.at(operand));
  if (name == "stablehlo.while")
    return runLoop(op, std::move(operands), frame);
  if (name == "exec.fusion")
    return runRegion(op->getRegion(0), operands, frame);
  if (name == "stablehlo.if" || name == "stablehlo.case")
    return runBranch(op, operands, frame);
  if (auto call = dyn_cast<func::CallOp>(op))
    return this->call(call.getCallee(), std::move(operands));
  if (name == "stablehlo.composite")
    return call(op->getAttrOfType<FlatSymbolRefAttr>("decomposition").getValue(),
                std::move(operands));
  if (name == "stablehlo.tuple") {
    RuntimeValues values;
    for (const Bounded &operand : operands)
      values.push_back(operand.value);
    return Results{{RuntimeValue::tuple(std::move(values)), {}, std::move(operands)}};
  }
  if (name == "stablehlo.get_tuple_element")
    return Results{
        operands[0]
            .elements[static_cast<size_t>(op->getAttrOfType<IntegerAttr>("index").getInt())]};
  if (name == "stablehlo.optimization_barrier")
    return operands;

  RuntimeValues values;
  for (const Bounded &operand : operands)
    values.push_back(operand.value);
  auto evaluated = ops.evaluate(op, std::move(values), limits);
  if (!evaluated.isOk())
    return std::move(evaluated).takeStatus().during(
        concat("evaluating '", name.str(), "' with bounds"));
  Results results;
  for (RuntimeValue &value : *evaluated)
    results.push_back(exactly(std::move(value)));
  TILEWRIGHT_TRY(setBounds(op, operands, results));
  return results;
}

Status BoundsEvaluator::setBounds(Operation *op, const Operands &operands, Results &results) {
  const llvm::StringRef name = op->getName().getStringRef();
  auto isOneOf = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::is_contained(names, name);
  };
  if (isOneOf({"stablehlo.constant", "stablehlo.iota", "stablehlo.create_token",
               "stablehlo.after_all", "stablehlo.dynamic_iota", "stablehlo.get_dimension_size",
               "stablehlo.partition_id", "stablehlo.replica_id", "stablehlo.rng_bit_generator"}))
    return {}; // exact, if their operands are
  if (isOneOf({"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter"}))
    return setReduction(op, operands, results);
  if (isOneOf({"stablehlo.select_and_scatter"}))
    return setSelectAndScatter(op, operands, results);
  if (isOneOf({"stablehlo.sort"}))
    return setSort(op, operands, results);
  if (isOneOf({"stablehlo.dot_general", "stablehlo.dot", "stablehlo.einsum",
               "stablehlo.convolution", "stablehlo.dynamic_conv"}))
    return setProduct(op, operands, results);
  if (isOneOf({"stablehlo.reshape", "stablehlo.transpose", "stablehlo.slice", "stablehlo.broadcast",
               "stablehlo.broadcast_in_dim", "stablehlo.concatenate", "stablehlo.reverse",
               "stablehlo.pad", "stablehlo.gather", "stablehlo.dynamic_slice",
               "stablehlo.dynamic_update_slice", "stablehlo.torch_index_select",
               "stablehlo.dynamic_reshape", "stablehlo.dynamic_broadcast_in_dim",
               "stablehlo.dynamic_pad", "stablehlo.dynamic_gather", "stablehlo.real_dynamic_slice",
               "stablehlo.set_dimension_size"}))
    return setMovement(op, operands, results);
  if (name == "stablehlo.fft")
    return setFft(op, operands, results), Status();
  if (name == "stablehlo.triangular_solve")
    return setTriangularSolve(op, operands, results), Status();
  if (name == "stablehlo.cholesky")
    return setCholesky(op, operands, results), Status();
  if (name.starts_with("stablehlo.batch_norm"))
    return setBatchNorm(op, operands, results), Status();
  if (setElementwise(op, operands, results))
    return {};
  // The op has no rule: integer results of exact operands are exact, all others are unknown.
  bool exact = std::ranges::all_of(operands, [](const Bounded &b) { return b.isExact(); });
  for (Bounded &result : results)
    if (!exact || !result.value.isTensor() || numerics::isReal(result.tensor().type()) ||
        numerics::isComplex(result.tensor().type()))
      forget(result);
  return {};
}

Result<Tensor> BoundsEvaluator::doubles(const Tensor &like, const BoundList &values) {
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(ElementType::f64, like.shape(), context));
  if (!values.empty())
    std::memcpy(tensor.mutableData(), values.data(), values.size() * sizeof(double));
  return tensor;
}

/// `type` with f64 in place of a float or complex element type.
static Type withDoubles(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType, ComplexType>(tensor.getElementType()))
    return type;
  return tensor.clone(Float64Type::get(type.getContext()));
}

Result<std::vector<Tensor>> BoundsEvaluator::onDoubles(Operation *op, std::vector<Tensor> operands,
                                                       llvm::StringRef body) {
  MLIRContext *mlirContext = op->getContext();
  Operation *copy = op->cloneWithoutRegions();
  OwningOpRef<Operation *> owner(copy);
  scratch->eraseArguments([](BlockArgument) { return true; });
  RuntimeValues values;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = RankedTensorType::get(operand.shape().dims(), typeOf(operand.type(), *mlirContext));
    copy->setOperand(static_cast<unsigned>(i), scratch->addArgument(type, op->getLoc()));
    values.emplace_back(std::move(operand));
  }
  for (OpResult result : copy->getResults())
    result.setType(cast<RankedTensorType>(result.getType()).clone(Float64Type::get(mlirContext)));
  for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions())) {
    if (body.empty()) {
      IRMapping mapping;
      from.cloneInto(&to, mapping);
      for (BlockArgument argument : to.getArguments())
        argument.setType(withDoubles(argument.getType()));
      to.walk([](Operation *inner) {
        for (OpResult result : inner->getResults())
          result.setType(withDoubles(result.getType()));
      });
      continue;
    }
    Block &block = to.emplaceBlock();
    auto scalar = RankedTensorType::get({}, Float64Type::get(mlirContext));
    Value x = block.addArgument(scalar, op->getLoc()), y = block.addArgument(scalar, op->getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    OperationState apply(op->getLoc(), body, {x, y}, {scalar});
    Operation *made = builder.create(apply);
    OperationState finish(op->getLoc(), "stablehlo.return", made->getResults(), TypeRange{});
    builder.create(finish);
  }
  auto evaluated = ops.evaluate(copy, std::move(values), limits);
  TILEWRIGHT_TRY(evaluated.isOk() ? Status() : std::move(evaluated).takeStatus());
  std::vector<Tensor> results;
  for (RuntimeValue &value : *evaluated)
    results.push_back(value.takeTensor());
  return results;
}

BoundList BoundsEvaluator::magnitudes(const Bounded &operand) const {
  const Tensor &tensor = operand.tensor();
  BoundList sizes(operand.bounds.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Scalar scalar = tensor.at(static_cast<int64_t>(i));
    const double size = numerics::isComplex(tensor.type()) ? std::abs(scalar.complex())
                        : numerics::isReal(tensor.type())  ? std::fabs(scalar.r)
                        : numerics::isSigned(tensor.type())
                            ? std::fabs(static_cast<double>(scalar.i))
                            : static_cast<double>(scalar.u);
    // Callers handle non-finite elements separately, so they count as 0 here.
    sizes[i] =
        std::isfinite(size) && std::isfinite(operand.bounds[i]) ? size + operand.bounds[i] : 0;
  }
  return sizes;
}

Result<Tensor> boundsTensor(const Bounded &of, Context &context) {
  TILEWRIGHT_ASSIGN(Tensor tensor,
                    Tensor::allocate(ElementType::f64, of.tensor().shape(), context));
  if (!of.bounds.empty())
    std::memcpy(tensor.mutableData(), of.bounds.data(), of.bounds.size() * sizeof(double));
  return tensor;
}

double unitRoundoff(ElementType type) {
  type = numerics::componentOf(type);
  return std::ldexp(1.0, -(numerics::formatOf(type).mantissaBits + 1));
}

double largestFinite(ElementType type) {
  type = numerics::componentOf(type);
  return numerics::decode(type, numerics::formatOf(type).maxFinite()
                                    << numerics::formatOf(type).paddingBits);
}

double smallestNormal(ElementType type) {
  return std::ldexp(1.0, 1 - numerics::formatOf(numerics::componentOf(type)).bias);
}

double smallestSubnormal(ElementType type) {
  const numerics::FloatFormat &format = numerics::formatOf(numerics::componentOf(type));
  return std::ldexp(1.0, 1 - format.bias - format.mantissaBits);
}

double ulpAt(ElementType type, double magnitude) {
  if (!std::isfinite(magnitude))
    return unknown;
  const double smallest = smallestSubnormal(type);
  if (magnitude < smallestNormal(type))
    return smallest;
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude = m * 2^exponent, m in [1/2, 1)
  return std::max(smallest, std::ldexp(2 * unitRoundoff(type), exponent - 1));
}

double latticeOf(const Tensor &tensor) {
  double lattice = unknown;
  auto take = [&](double value) {
    if (value == 0 || !std::isfinite(value))
      return;
    int exponent = 0;
    auto bits = static_cast<int64_t>(std::ldexp(std::frexp(std::fabs(value), &exponent), 53));
    lattice = std::min(lattice, std::ldexp(1.0, exponent - 53 + __builtin_ctzll(bits)));
  };
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const Scalar scalar = tensor.at(i);
    take(scalar.r);
    if (numerics::isComplex(tensor.type()))
      take(scalar.im);
  }
  return lattice;
}

llvm::StringRef onlyOpOf(Region &region) {
  if (!region.hasOneBlock())
    return {};
  Block &block = region.front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return {};
  Operation &op = block.front();
  const bool isPlain = op.getNumOperands() == 2 && op.getNumResults() == 1 &&
                       op.getOperand(0) != op.getOperand(1) &&
                       llvm::all_of(op.getOperands(), [&](Value operand) {
                         return operand.getParentBlock() == &block && isa<BlockArgument>(operand);
                       });
  return isPlain && block.back().getOperand(0) == op.getResult(0) ? op.getName().getStringRef()
                                                                  : llvm::StringRef();
}

Result<std::vector<Bounded>> evaluateWithBounds(ModuleOp module, llvm::StringRef function,
                                                RuntimeValues inputs, const Allowance &allowance,
                                                const InterpretOptions &limits) {
  std::vector<Bounded> bounded;
  for (RuntimeValue &input : inputs)
    bounded.push_back(exactly(std::move(input)));
  return BoundsEvaluator(module, allowance, limits).call(function, std::move(bounded));
}

std::string differenceFrom(const Bounded &expected, const Tensor &actual, Compared *compared) {
  Compared ignored;
  Compared &counts = compared ? *compared : ignored;
  const Tensor &tensor = expected.tensor();
  const ElementType type = tensor.type();
  if (actual.type() != type || actual.shape() != tensor.shape())
    return concat("the result is a tensor of ", actual.typeString(), ", expected ",
                  tensor.typeString());
  const bool isComplex = numerics::isComplex(type), isFloat = numerics::isReal(type) || isComplex;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const double bound = expected.bounds[static_cast<size_t>(i)];
    if (bound == unknown) {
      ++counts.unknown;
      continue;
    }
    ++(bound == 0 ? counts.exact : counts.bounded);
    const Scalar want = tensor.at(i), got = actual.at(i);
    const size_t offset = static_cast<size_t>(i) * tensor.elementBytes();
    bool agrees =
        std::memcmp(tensor.data() + offset, actual.data() + offset, tensor.elementBytes()) == 0;
    if (!agrees && isFloat) {
      const bool wantNan = std::isnan(want.r) || (isComplex && std::isnan(want.im));
      const bool gotNan = std::isnan(got.r) || (isComplex && std::isnan(got.im));
      if (wantNan || gotNan)
        agrees = wantNan && gotNan; // the bits of a NaN are unspecified
      else if (bound > 0)
        agrees = isComplex ? std::abs(got.complex() - want.complex()) <= bound
                           : std::fabs(got.r - want.r) <= bound;
    }
    if (!agrees)
      return concat("element ", i, " of ", tensor.typeString(), " is ", toString(type, got),
                    ", expected ", toString(type, want),
                    bound == 0 ? std::string(" exactly") : concat(" within ", bound));
  }
  return "";
}

} // namespace tilewright::interpret
