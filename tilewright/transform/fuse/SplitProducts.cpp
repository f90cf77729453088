// fuse-split-products: a product of f32 as one product of the operands' parts in a narrow type, for
// which the target has matrix instructions. docs/design/split-products.md has the reasons.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/ConvertTo.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/IR/Remarks.h"

#include <array>

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_SPLITPRODUCTSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// The parts of a number x, with x = high + middle + low. `finiteHigh` is `high`, or 0 if x is not
/// finite.
enum Part { low, middle, finiteHigh, high };

/// The parts to multiply, in the order in which the sum adds their products.
struct Parts {
  SmallVector<Part> lhs, rhs;
};

/// The products of `count`-product emulation, smallest first, so that the sum loses no more than
/// that of the largest products. Infinities and NaN are in the last product only: an infinity
/// times the zero middle part of a number such as 1 would be NaN.
Parts partsFor(int64_t count) {
  switch (count) {
  case 3:
    return {{middle, finiteHigh, high}, {finiteHigh, middle, high}};
  case 6:
    return {{low, middle, finiteHigh, middle, finiteHigh, high},
            {finiteHigh, middle, low, finiteHigh, middle, high}};
  default:
    return {{low, low, middle, low, middle, finiteHigh, middle, finiteHigh, high},
            {low, middle, low, finiteHigh, middle, low, finiteHigh, middle, high}};
  }
}

/// The arithmetic that a dot_general requests.
struct Request {
  /// The type of the parts, bf16 or tf32; null if the operands are not split.
  Type part;
  int64_t products = 1;
  /// The precision of the product if it is not split.
  stablehlo::Precision precision = stablehlo::Precision::DEFAULT;
};

/// The strictest precision of the two operands.
stablehlo::Precision precisionOf(stablehlo::DotGeneralOp dot) {
  auto strictest = stablehlo::Precision::DEFAULT;
  if (ArrayAttr config = dot.getPrecisionConfigAttr())
    for (auto entry : config.getAsRange<stablehlo::PrecisionAttr>())
      strictest = std::max(strictest, entry.getValue());
  return strictest;
}

/// The request of an algorithm; nullopt for algorithms that do not compute with f32.
std::optional<Request> requestOf(stablehlo::DotAlgorithmAttr algorithm) {
  Type type = algorithm.getLhsPrecisionType();
  const int64_t products = algorithm.getNumPrimitiveOperations(),
                components = algorithm.getLhsComponentCount();
  if (algorithm.getRhsPrecisionType() != type || algorithm.getRhsComponentCount() != components ||
      !algorithm.getAccumulationType().isF32())
    return std::nullopt;
  if (products == 1 && components == 1) {
    if (type.isF32())
      return Request{Type(), 1, stablehlo::Precision::HIGHEST};
    return isa<FloatTF32Type>(type) ? std::optional(Request()) : std::nullopt;
  }
  // JAX and StableHLO's list of algorithms leave the number of components at 1.
  const bool isThree = products == 3 && (components == 1 || components == 2);
  const bool isMore = (products == 6 || products == 9) && (components == 1 || components == 3);
  if ((type.isBF16() && (isThree || isMore)) || (isa<FloatTF32Type>(type) && isThree))
    return Request{type, products, stablehlo::Precision::HIGHEST};
  return std::nullopt;
}

std::optional<Request> requestOf(stablehlo::DotGeneralOp dot) {
  if (stablehlo::DotAlgorithmAttr algorithm = dot.getAlgorithmAttr())
    return requestOf(algorithm);
  const stablehlo::Precision precision = precisionOf(dot);
  if (precision == stablehlo::Precision::DEFAULT)
    return std::nullopt;
  return Request{BFloat16Type::get(dot.getContext()),
                 precision == stablehlo::Precision::HIGH ? 3 : 6, precision};
}

/// Whether a dot_general multiplies f32, or types that f32 holds, and sums in f32.
bool computesSingle(stablehlo::DotGeneralOp dot) {
  SmallVector<Type, 3> elements;
  for (Value value : {dot.getLhs(), dot.getRhs(), dot.getResult()}) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
      return false;
    elements.push_back(type.getElementType());
  }
  // If there is an algorithm, it determines the type of the sum.
  if (elements[0].isF64() || elements[1].isF64() || (elements[2].isF64() && !dot.getAlgorithm()))
    return false;
  // Without an algorithm, only f32 can be multiplied in more than one way.
  return dot.getAlgorithm() || elements[0].isF32() || elements[1].isF32();
}

/// The rows, columns and depth of a dot_general.
struct Extents {
  int64_t rows = 1, columns = 1, depth = 1;
};

Extents extentsOf(stablehlo::DotGeneralOp dot) {
  stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
  auto product = [](ArrayRef<int64_t> shape, ArrayRef<int64_t> wanted) {
    int64_t size = 1;
    for (int64_t dim : wanted)
      size *= shape[static_cast<size_t>(dim)];
    return size;
  };
  auto free = [&](Value operand, ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
    ArrayRef<int64_t> shape = typeOf(operand).getShape();
    int64_t size = 1;
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (!llvm::is_contained(batching, int64_t(dim)) &&
          !llvm::is_contained(contracting, int64_t(dim)))
        size *= extent;
    return size;
  };
  return {free(dot.getLhs(), dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions()),
          free(dot.getRhs(), dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions()),
          product(typeOf(dot.getLhs()).getShape(), dims.getLhsContractingDimensions())};
}

/// Why a product is not split; empty if it is.
std::string refuseSplit(stablehlo::DotGeneralOp dot, const Request &request) {
  // The parts are written to memory and read again. This does not pay off for a part that is used
  // by fewer products than an instruction has rows: multiplying elements takes no longer.
  constexpr int64_t least = 16;
  if (!request.part)
    return "its arithmetic is not that of parts";
  const exec::MatrixAttr matrix = exec::targetOf(dot).getMatrix();
  if (!matrix || !matrix.takes(request.part))
    return "the target has no matrix instructions for the parts";
  if (matrix.takes(Float32Type::get(dot.getContext())))
    return "the target's matrix instructions multiply f32 without rounding";
  const Extents extents = extentsOf(dot);
  if (std::min({extents.rows, extents.columns, extents.depth}) < least)
    return "it has fewer rows, columns or terms than a matrix instruction";
  return {};
}

/// Creates the parts of one operand.
class Splitter {
public:
  Splitter(OpBuilder &builder, Location loc, Type part)
      : builder(builder), loc(loc), part(part), isTf32(isa<FloatTF32Type>(part)) {}

  /// Repeats `operand`, an f32 tensor, along `dim` as many times as there are parts.
  Value split(Value operand, int64_t dim, ArrayRef<Part> parts) {
    RankedTensorType type = typeOf(operand);
    SmallVector<int64_t> apart(type.getShape()), merged(type.getShape()), kept;
    const auto count = static_cast<int64_t>(parts.size());
    apart.insert(apart.begin() + dim, count);
    merged[static_cast<size_t>(dim)] *= count;
    for (int64_t i = 0; i < static_cast<int64_t>(apart.size()); ++i)
      if (i != dim)
        kept.push_back(i);
    shape = apart;
    const std::array<Value, 4> all =
        partsOf(create<stablehlo::BroadcastInDimOp>(single(), operand, kept),
                /*needsLow=*/llvm::is_contained(parts, low));
    Value number =
        create<stablehlo::IotaOp>(tensorOf(builder.getI32Type()), static_cast<uint64_t>(dim));
    Value chosen = all[parts[0]];
    for (int64_t i = 1; i < count; ++i) {
      Value isThis = create<stablehlo::CompareOp>(
          tensorOf(builder.getI1Type()), number, splat(builder.getI32IntegerAttr(int32_t(i))),
          stablehlo::ComparisonDirection::EQ, stablehlo::ComparisonTypeAttr());
      chosen = create<stablehlo::SelectOp>(chosen.getType(), isThis, all[parts[size_t(i)]], chosen);
    }
    return create<stablehlo::ReshapeOp>(
        RankedTensorType::get(merged, typeOf(chosen).getElementType()), chosen);
  }

private:
  template <typename Op, typename... Arguments> Value create(Type type, Arguments &&...arguments) {
    return Op::create(builder, loc, type, std::forward<Arguments>(arguments)...);
  }
  RankedTensorType tensorOf(Type element) const { return RankedTensorType::get(shape, element); }
  RankedTensorType single() const { return tensorOf(builder.getF32Type()); }
  Value splat(TypedAttr value) {
    return stablehlo::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(tensorOf(value.getType()), Attribute(value)));
  }
  /// Rounds f32 to the type of the parts.
  Value round(Value value) {
    if (isTf32)
      return create<stablehlo::ReducePrecisionOp>(single(), value, /*exponentBits=*/8u,
                                                  /*mantissaBits=*/10u);
    return create<stablehlo::ConvertOp>(tensorOf(part), value);
  }
  Value widen(Value value) {
    return isTf32 ? value : create<stablehlo::ConvertOp>(single(), value);
  }

  /// The parts of `x`, indexed by Part; without the low one if it is not needed.
  std::array<Value, 4> partsOf(Value x, bool needsLow) {
    Value isFinite = create<stablehlo::IsFiniteOp>(tensorOf(builder.getI1Type()), x);
    // The largest f32 would round to infinity.
    const auto &semantics = cast<FloatType>(part).getFloatSemantics();
    bool losesInfo = false;
    APFloat largest = APFloat::getLargest(semantics);
    largest.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
    Value limit = splat(FloatAttr::get(builder.getF32Type(), largest));
    Value negative = splat(FloatAttr::get(builder.getF32Type(), -largest));
    Value clamped = create<stablehlo::ClampOp>(single(), negative, x, limit);
    Value first = round(create<stablehlo::SelectOp>(single(), isFinite, clamped, x));
    Value zero = splat(FloatAttr::get(builder.getF32Type(), 0.0));
    Value rest = create<stablehlo::SelectOp>(
        single(), isFinite, create<stablehlo::SubtractOp>(single(), x, widen(first)), zero);
    Value second = round(rest);
    Value third =
        needsLow ? round(create<stablehlo::SubtractOp>(single(), rest, widen(second))) : Value();
    Value none = splat(FloatAttr::get(typeOf(first).getElementType(), 0.0));
    Value finite = create<stablehlo::SelectOp>(first.getType(), isFinite, first, none);
    return {third, second, finite, first};
  }

  OpBuilder &builder;
  const Location loc;
  const Type part;
  const bool isTf32;
  SmallVector<int64_t> shape; // of the operand, with the number of the part as a dimension
};

/// Replaces the product by one of the operands' parts.
void split(stablehlo::DotGeneralOp dot, const Request &request) {
  OpBuilder builder(dot);
  stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
  const Parts parts = partsFor(request.products);
  Type single = builder.getF32Type();
  Splitter splitter(builder, dot.getLoc(), request.part);
  Value lhs = splitter.split(convertTo(builder, dot.getLoc(), dot.getLhs(), single),
                             dims.getLhsContractingDimensions().front(), parts.lhs);
  Value rhs = splitter.split(convertTo(builder, dot.getLoc(), dot.getRhs(), single),
                             dims.getRhsContractingDimensions().front(), parts.rhs);
  auto sums =
      stablehlo::DotGeneralOp::create(builder, dot.getLoc(), dot.getType().clone(single), lhs, rhs,
                                      dims, ArrayAttr(), stablehlo::DotAlgorithmAttr());
  exec::copyHint(dot, sums);
  dot.replaceAllUsesWith(
      convertTo(builder, dot.getLoc(), sums, typeOf(dot.getResult()).getElementType()));
  dot.erase();
}

/// Replaces an algorithm by a precision: the product keeps its operands, in f32 if the algorithm
/// computes with f32.
void keepWhole(stablehlo::DotGeneralOp dot, const Request &request) {
  if (!dot.getAlgorithm())
    return;
  OpBuilder builder(dot);
  Type single = builder.getF32Type();
  auto precision = stablehlo::PrecisionAttr::get(builder.getContext(), request.precision);
  auto sums = stablehlo::DotGeneralOp::create(
      builder, dot.getLoc(), dot.getType().clone(single),
      convertTo(builder, dot.getLoc(), dot.getLhs(), single),
      convertTo(builder, dot.getLoc(), dot.getRhs(), single), dot.getDotDimensionNumbers(),
      builder.getArrayAttr({precision, precision}), stablehlo::DotAlgorithmAttr());
  exec::copyHint(dot, sums);
  dot.replaceAllUsesWith(
      convertTo(builder, dot.getLoc(), sums, typeOf(dot.getResult()).getElementType()));
  dot.erase();
}

struct SplitProducts : impl::SplitProductsPassBase<SplitProducts> {
  void runOnOperation() override {
    // The remaining private functions define composites and never run.
    if (getOperation().isPrivate())
      return;
    // Collect the products first, because the rewrite adds new ones.
    SmallVector<std::pair<stablehlo::DotGeneralOp, Request>> found;
    getOperation().walk([&](stablehlo::DotGeneralOp dot) {
      if (!computesSingle(dot))
        return;
      if (std::optional<Request> request = requestOf(dot))
        found.push_back({dot, *request});
    });
    for (auto [dot, request] : found) {
      const std::string refusal = refuseSplit(dot, request);
      report(dot, request, refusal);
      if (refusal.empty())
        split(dot, request);
      else
        keepWhole(dot, request);
    }
  }

  void report(stablehlo::DotGeneralOp dot, const Request &request, StringRef refusal) {
    TILEWRIGHT_LOG(getArgument(), dot, refusal.empty() ? "is split into products of parts: " : "",
                   refusal.empty() ? std::to_string(request.products)
                                   : "is not split: " + refusal.str());
    if (!getContext().getRemarkEngine())
      return;
    auto opts = remark::RemarkOpts::name("split-products").category("fuse");
    if (refusal.empty())
      remark::passed(dot.getLoc(), opts)
          << remark::add("one product of parts with {0} times the depth", request.products);
    else
      remark::missed(dot.getLoc(), opts) << remark::reason("{0}", refusal.str());
  }
};

} // namespace
} // namespace tilewright::fuse
