#include "tilewright/driver/Costs.h"

#include "tilewright/artifact/Statistics.h"
#include "tilewright/artifact/StepCosts.h"
#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/schedule/BufferClasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CastInterfaces.h"

#include <cmath>

using namespace mlir;

namespace tilewright::driver {

namespace {

double elementsOf(Type type) {
  double count = 1;
  for (int64_t size : cast<ShapedType>(type).getShape())
    count *= static_cast<double>(std::max<int64_t>(size, 0));
  return count;
}

bool isFloat(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  return shaped && isa<FloatType, ComplexType>(shaped.getElementType());
}

bool isTranscendental(Operation *op) {
  return isa<stablehlo::CbrtOp, stablehlo::CosineOp, stablehlo::ExponentialOp,
             stablehlo::ExponentialMinusOneOp, stablehlo::LogOp, stablehlo::LogPlusOneOp,
             stablehlo::LogisticOp, stablehlo::RsqrtOp, stablehlo::SineOp, stablehlo::SqrtOp,
             stablehlo::TanOp, stablehlo::TanhOp, stablehlo::PowerOp, stablehlo::Atan2Op>(op);
}

/// Cost of one element of an elementwise op; conversions and selects are not arithmetic.
Arithmetic ofElement(Operation *op) {
  if (isTranscendental(op))
    return {0, 1};
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return composite.getName().starts_with("chlo.") ? Arithmetic{0, 1} : Arithmetic{};
  const bool counts =
      isa<stablehlo::AbsOp, stablehlo::NegateOp, stablehlo::SignOp, stablehlo::CeilOp,
          stablehlo::FloorOp, stablehlo::RoundNearestAfzOp, stablehlo::RoundNearestEvenOp,
          stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp, stablehlo::DivideOp,
          stablehlo::RemainderOp, stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::ClampOp,
          stablehlo::CompareOp>(op);
  return counts ? Arithmetic{1, 0} : Arithmetic{};
}

/// Cost of one call of a scalar function: the sum of its ops.
Arithmetic ofBody(Region &body) {
  Arithmetic sum;
  body.walk([&](Operation *op) {
    if (op->getNumOperands() == 0 || !isFloat(op->getOperand(0).getType()))
      return;
    Arithmetic one = ofElement(op);
    sum.flops += one.flops;
    sum.transcendentals += one.transcendentals;
  });
  return sum;
}

Arithmetic times(Arithmetic one, double count) {
  return {one.flops * count, one.transcendentals * count};
}

/// Cost of an op that is not a loop or branch.
Arithmetic ofOp(Operation *op) {
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    double sums = 1;
    auto lhs = cast<ShapedType>(dot.getLhs().getType());
    for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions())
      sums *= static_cast<double>(lhs.getDimSize(dim));
    return {2 * sums * elementsOf(dot.getType()), 0};
  }
  if (auto product = dyn_cast<exec::ScaledMatmulOp>(op))
    return {2 * static_cast<double>(product.getDepth()) * elementsOf(product.getResult().getType()),
            0};
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    auto kernel = cast<ShapedType>(convolution.getRhs().getType());
    int64_t outputs =
        kernel.getDimSize(convolution.getDimensionNumbers().getKernelOutputFeatureDimension());
    double sums = outputs > 0 ? elementsOf(kernel) / static_cast<double>(outputs) : 0;
    return {2 * sums * elementsOf(convolution.getType()), 0};
  }
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return times(ofBody(reduce.getBody()), elementsOf(reduce.getInputs()[0].getType()) -
                                               elementsOf(reduce.getResult(0).getType()));
  if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
    double size = 1;
    for (int64_t dim : window.getWindowDimensions())
      size *= static_cast<double>(dim);
    return times(ofBody(window.getBody()), elementsOf(window.getResult(0).getType()) * (size - 1));
  }
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return times(ofBody(scatter->getRegion(0)), elementsOf(scatter.getUpdates()[0].getType()));
  if (auto cholesky = dyn_cast<stablehlo::CholeskyOp>(op)) {
    auto order = static_cast<double>(cast<ShapedType>(cholesky.getType()).getShape().back());
    return {elementsOf(cholesky.getType()) * order / 3, 0};
  }
  if (auto solve = dyn_cast<stablehlo::TriangularSolveOp>(op)) {
    auto order = static_cast<double>(cast<ShapedType>(solve.getA().getType()).getShape().back());
    return {elementsOf(solve.getType()) * order, 0};
  }
  if (auto fft = dyn_cast<stablehlo::FftOp>(op)) {
    double length = 1;
    for (int64_t size : fft.getFftLength())
      length *= static_cast<double>(size);
    // The usual flop count of the radix-2 algorithm.
    return {5 * elementsOf(fft.getType()) * std::log2(std::max(length, 1.0)), 0};
  }
  if (op->getNumOperands() == 0 || op->getNumResults() == 0 ||
      !isFloat(op->getOperand(0).getType()))
    return {};
  return times(ofElement(op), elementsOf(op->getResult(0).getType()));
}

double total(const CostsByOp &costs) {
  double sum = 0;
  for (const auto &[name, cost] : costs)
    sum += cost.flops + cost.transcendentals;
  return sum;
}

CostsByOp ofBlock(Block &block) {
  CostsByOp costs;
  auto add = [&](const CostsByOp &more, double factor) {
    for (const auto &[name, cost] : more) {
      Arithmetic &sum = costs[name];
      sum.flops += cost.flops * factor;
      sum.transcendentals += cost.transcendentals * factor;
    }
  };
  for (Operation &op : block) {
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      auto count = loop->getAttrOfType<IntegerAttr>("exec.trip_count");
      double turns = count ? static_cast<double>(count.getInt()) : 1;
      add(ofBlock(loop.getCond().front()), turns + 1);
      add(ofBlock(loop.getBody().front()), turns);
    } else if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op)) {
      CostsByOp dearest;
      for (Region &region : op.getRegions())
        if (CostsByOp branch = ofBlock(region.front()); total(branch) > total(dearest))
          dearest = std::move(branch);
      add(dearest, 1);
    } else if (Arithmetic cost = ofOp(&op); cost.flops > 0 || cost.transcendentals > 0) {
      add({{op.getName().stripDialect().str(), cost}}, 1);
    }
  }
  return costs;
}

double bytesOf(const artifact::Executable &executable, artifact::Index block) {
  double sum = 0;
  for (const artifact::Step &step : executable.blocks[block].steps) {
    sum += static_cast<double>(artifact::bytesOf(step));
    if (auto *loop = std::get_if<artifact::WhileStep>(&step.action)) {
      double turns = loop->tripCount >= 0 ? static_cast<double>(loop->tripCount) : 1;
      sum += turns * (bytesOf(executable, loop->condition) + bytesOf(executable, loop->body));
    } else if (auto *branch = std::get_if<artifact::BranchStep>(&step.action)) {
      double most = 0;
      for (artifact::Index inner : branch->blocks)
        most = std::max(most, bytesOf(executable, inner));
      sum += most;
    }
  }
  return sum;
}

} // namespace

/// Keeps the largest product of a fusion.
static void addLarger(int64_t batch, int64_t m, int64_t n, int64_t k, Type element,
                      artifact::StepCost &cost) {
  cost.kind = artifact::StepCost::Class::product;
  if (batch * m * n * k <= cost.batch * cost.m * cost.n * cost.k)
    return;
  cost.batch = batch, cost.m = m, cost.n = n, cost.k = k;
  if (auto known = interpret::elementTypeOf(element))
    cost.element = *known;
}

static void addProduct(stablehlo::DotGeneralOp dot, artifact::StepCost &cost) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType()),
       rhs = cast<RankedTensorType>(dot.getRhs().getType());
  auto numbers = dot.getDotDimensionNumbers();
  auto sizeOf = [](RankedTensorType type, ArrayRef<int64_t> dims) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= type.getDimSize(dim);
    return size;
  };
  const int64_t batch = sizeOf(lhs, numbers.getLhsBatchingDimensions()),
                k = sizeOf(lhs, numbers.getLhsContractingDimensions());
  // Products have no operands of size 0: simplify removes them.
  const int64_t shared = std::max<int64_t>(batch * k, 1);
  addLarger(batch, lhs.getNumElements() / shared, rhs.getNumElements() / shared, k,
            lhs.getElementType(), cost);
}

static void addProduct(exec::ScaledMatmulOp product, artifact::StepCost &cost) {
  const ArrayRef<int64_t> shape = cast<RankedTensorType>(product.getResult().getType()).getShape();
  addLarger(shape.size() > 2 ? shape[0] : 1, shape[shape.size() - 2], shape.back(),
            product.getDepth(), product.getLhsType(), cost);
}

static void setWork(Operation *op, double flops, double transcendentals,
                    const artifact::StepCost &cost) {
  const int64_t values[] = {static_cast<int64_t>(flops),
                            static_cast<int64_t>(transcendentals),
                            cost.batch,
                            cost.m,
                            cost.n,
                            cost.k,
                            static_cast<int64_t>(cost.element)};
  op->setDiscardableAttr("exec.work", Builder(op->getContext()).getDenseI64ArrayAttr(values));
}

/// Cost of one call of a scalar function of arith and math.
static Arithmetic ofScalars(Region &body) {
  Arithmetic sum;
  body.walk([&](Operation *op) {
    const StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "math")
      sum.transcendentals += 1;
    else if (dialect == "arith" && op->getNumOperands() > 0 &&
             isa<FloatType>(op->getOperand(0).getType()) && !isa<CastOpInterface>(op))
      sum.flops += 1;
  });
  return sum;
}

namespace {
/// The sizes of attention or of its gradients.
struct AttentionSizes {
  int64_t heads = 1, queries, keys, depth, width;
  double scores;

  explicit AttentionSizes(ArrayRef<int64_t> sizes)
      : queries(*(sizes.end() - 4)), keys(*(sizes.end() - 3)), depth(*(sizes.end() - 2)),
        width(sizes.back()) {
    for (int64_t size : sizes.drop_back(4))
      heads *= size;
    scores = static_cast<double>(heads) * static_cast<double>(queries) * static_cast<double>(keys);
  }
};
} // namespace

/// Computes the cost of attention as if no block were masked, and adds its products to `cost`.
static Arithmetic ofAttention(ArrayRef<int64_t> all, Region &score, Type element,
                              artifact::StepCost &cost) {
  const auto [heads, queries, keys, depth, width, scores] = AttentionSizes(all);
  const Arithmetic ofScore = ofScalars(score);
  // In addition to both products: the maximum, a subtraction, an exponential and a sum.
  const double flops = scores * (2 * static_cast<double>(depth + width) + ofScore.flops + 3);
  addLarger(heads, queries, keys, depth, element, cost);
  addLarger(heads, queries, width, keys, element, cost);
  return {flops, scores * (ofScore.transcendentals + 1)};
}

static void markWork(exec::AttentionOp op, SymbolTable &symbols) {
  auto score =
      symbols.lookup<func::FuncOp>(cast<FlatSymbolRefAttr>((*op.getBodies())[0]).getValue());
  artifact::StepCost cost;
  const Arithmetic sum =
      ofAttention(op.getSizes(), score.getBody(),
                  cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType(), cost);
  setWork(op, sum.flops, sum.transcendentals, cost);
}

/// Computes the cost of the gradients of attention, as if no block were masked and each block were
/// computed once for all of them, and adds their products to `cost`.
static Arithmetic ofGradients(ArrayRef<int64_t> all, ArrayRef<int64_t> gradients,
                              Arithmetic ofElement, Type element, artifact::StepCost &cost) {
  const auto [heads, queries, keys, depth, width, scores] = AttentionSizes(all);
  addLarger(heads, queries, keys, depth, element, cost);
  addLarger(heads, queries, keys, width, element, cost);
  int64_t summed = depth + width; // for each score, in all products
  for (int64_t gradient : gradients) {
    if (gradient == 3) // a number for each row, without a product
      continue;
    const int64_t columns = gradient == 2 ? width : depth;
    summed += columns;
    addLarger(heads, gradient == 0 ? queries : keys, columns, gradient == 0 ? keys : queries,
              element, cost);
  }
  return {scores * (2 * static_cast<double>(summed) + ofElement.flops),
          scores * ofElement.transcendentals};
}

static void markWork(exec::AttentionBackwardOp op, SymbolTable &symbols) {
  auto gradient =
      symbols.lookup<func::FuncOp>(cast<FlatSymbolRefAttr>((*op.getBodies())[0]).getValue());
  artifact::StepCost cost;
  const Arithmetic sum =
      ofGradients(op.getSizes(), op.getGradients(), ofScalars(gradient.getBody()),
                  cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType(), cost);
  setWork(op, sum.flops, sum.transcendentals, cost);
}

void markWork(ModuleOp module) {
  SymbolTable symbols(module);
  module.walk([&](exec::AttentionOp op) { markWork(op, symbols); });
  module.walk([&](exec::AttentionBackwardOp op) { markWork(op, symbols); });
  module.walk([&](exec::FusionOp fusion) {
    artifact::StepCost cost;
    Arithmetic sum;
    for (const auto &[name, one] : ofBlock(fusion.getBody().front()))
      sum.flops += one.flops, sum.transcendentals += one.transcendentals;
    fusion.walk([&](stablehlo::DotGeneralOp dot) { addProduct(dot, cost); });
    fusion.walk([&](exec::ScaledMatmulOp product) { addProduct(product, cost); });
    fusion.walk([&](exec::SoftmaxDotOp op) {
      sum = ofAttention(op.getSizes(), op.getBody(),
                        cast<RankedTensorType>(op.getOperand(0).getType()).getElementType(), cost);
    });
    fusion.walk([&](exec::SoftmaxDotBackwardOp op) {
      sum = ofGradients(op.getSizes(), op.getGradients(), ofScalars(op.getBody()),
                        cast<RankedTensorType>(op.getOperand(0).getType()).getElementType(), cost);
    });
    setWork(fusion, sum.flops, sum.transcendentals, cost);
  });
}

artifact::StepCost costOf(const artifact::Executable &executable, const artifact::Step &step,
                          Operation *op) {
  artifact::StepCost cost = artifact::costOf(executable, step);
  // A kernel that writes a part of an operand in place reads only what it writes there.
  if (isa<exec::LaunchOp>(op) && exec::mustAlias(op)) {
    ArrayRef<int64_t> pairs = exec::aliasesOf(op);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2)
      for (Value value : {Value(op->getResult(static_cast<unsigned>(pairs[i]))),
                          op->getOperand(static_cast<unsigned>(pairs[i + 1]))})
        cost.bytes -= schedule::bytesOf(value.getType());
    cost.bytes *= 2;
  }
  auto work = op->getAttrOfType<DenseI64ArrayAttr>("exec.work");
  if (!work || work.size() != 7)
    return cost;
  ArrayRef<int64_t> values = work.asArrayRef();
  cost.flops = values[0], cost.transcendentals = values[1];
  cost.batch = values[2], cost.m = values[3], cost.n = values[4], cost.k = values[5];
  cost.element = static_cast<numerics::ElementType>(values[6]);
  if (cost.m > 0)
    cost.kind = artifact::StepCost::Class::product;
  return cost;
}

CostsByOp countArithmetic(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  return function && !function.isExternal() ? ofBlock(function.getBody().front()) : CostsByOp();
}

void addCosts(artifact::Executable &executable, const CostsByOp &costs) {
  Arithmetic sum;
  for (const auto &[name, cost] : costs) {
    sum.flops += cost.flops;
    sum.transcendentals += cost.transcendentals;
  }
  artifact::addStatistic(executable, "flops", sum.flops);
  artifact::addStatistic(executable, "transcendentals", sum.transcendentals);
  artifact::addStatistic(executable, "bytes accessed", bytesOf(executable, 0));
  for (const auto &[name, cost] : costs) {
    if (cost.flops > 0)
      artifact::addStatistic(executable, concat("flops of ", name), cost.flops);
    if (cost.transcendentals > 0)
      artifact::addStatistic(executable, concat("transcendentals of ", name), cost.transcendentals);
  }
}

} // namespace tilewright::driver
