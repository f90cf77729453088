#include "tilewright/transform/simplify/ScaledDot.h"

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/simplify/expand/TensorBuilder.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

constexpr StringRef target = "__op$block_scaled_dot";

/// One operand of the product. The last dimension is summed.
struct Side {
  StringRef name;
  TypedValue<RankedTensorType> values, scales; // scales may be null
  SmallVector<int64_t> batching;
  int64_t block = 1;

  int64_t depth() const { return values.getType().getShape().back(); }
};

int64_t blocksOf(const Side &side) {
  return static_cast<int64_t>(
      llvm::divideCeil(static_cast<uint64_t>(side.depth()), static_cast<uint64_t>(side.block)));
}

/// A call whose operands and configuration have been checked.
struct ScaledDot {
  Side lhs, rhs;
  TypedValue<RankedTensorType> globalScale; // may be null
  RankedTensorType result;
};

/// The parameters that XLA reads from the call's configuration, a JSON string.
struct Configuration {
  SmallVector<int64_t> lhsBatching, rhsBatching;
  std::optional<int64_t> block;
};

bool readDims(const llvm::json::Object &from, StringRef key, SmallVector<int64_t> &dims) {
  const llvm::json::Array *list = from.getArray(key);
  if (!list)
    return !from.get(key);
  for (const llvm::json::Value &entry : *list) {
    std::optional<int64_t> dim = entry.getAsInteger();
    if (!dim)
      return false;
    dims.push_back(*dim);
  }
  return true;
}

/// Reads the configuration; nullopt if it is malformed. A call without a configuration has a batch
/// dimension if its operands have three dimensions.
std::optional<Configuration> configurationOf(stablehlo::CustomCallOp call, int64_t rank) {
  Configuration configuration;
  auto text = dyn_cast_or_null<StringAttr>(call.getBackendConfig().value_or(Attribute()));
  if (call.getBackendConfig() && !text)
    return std::nullopt;
  const llvm::json::Object *dot = nullptr;
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(text && !text.empty() ? text.getValue() : StringRef("{}"));
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *all = parsed->getAsObject();
  if (!all)
    return std::nullopt;
  if (const llvm::json::Object *blocks = all->getObject("block_scaled_dot_backend_config"))
    if (blocks->get("block_size")) {
      configuration.block = blocks->getInteger("block_size");
      if (!configuration.block || *configuration.block < 1)
        return std::nullopt;
    }
  dot = all->getObject("scaled_dot_backend_config");
  if (!dot) {
    if (rank == 3)
      configuration.lhsBatching = configuration.rhsBatching = {0};
    return configuration;
  }
  if (!readDims(*dot, "lhs_batch_dimensions", configuration.lhsBatching) ||
      !readDims(*dot, "rhs_batch_dimensions", configuration.rhsBatching))
    return std::nullopt;
  return configuration;
}

bool isReal(RankedTensorType type) {
  return type && type.hasStaticShape() && isa<FloatType>(type.getElementType());
}

/// Checks the dimensions of one operand and derives the size of its blocks.
LogicalResult checkSide(stablehlo::CustomCallOp call, Side &side, std::optional<int64_t> block) {
  RankedTensorType type = side.values.getType();
  const int64_t rank = type.getRank();
  if (rank < 1)
    return call.emitOpError() << "needs " << side.name << " with at least one dimension, got "
                              << type;
  llvm::SmallBitVector seen(static_cast<unsigned>(rank));
  for (int64_t dim : side.batching) {
    if (dim < 0 || dim >= rank - 1 || seen.test(static_cast<unsigned>(dim)))
      return call.emitOpError() << "has batch dimension " << dim << " of " << side.name << ", "
                                << type
                                << ", which must be another dimension than the last, named once";
    seen.set(static_cast<unsigned>(dim));
  }
  if (!side.scales)
    return success();
  RankedTensorType scales = side.scales.getType();
  auto fail = [&](const Twine &rule) {
    return call.emitOpError() << "needs scales of " << side.name << " " << rule << ", got "
                              << side.name << " " << type << " and scales " << scales;
  };
  if (scales.getRank() != rank)
    return fail("with the same number of dimensions");
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    if (scales.getDimSize(static_cast<unsigned>(dim)) < type.getDimSize(static_cast<unsigned>(dim)))
      return fail("for each row");
  const int64_t blocks = scales.getShape().back();
  if (block) {
    // A block that is longer than the dimension, by any number, is one block of all of it.
    side.block = std::min(*block, std::max<int64_t>(side.depth(), 1));
    if (blocks < blocksOf(side))
      return fail("for each block of " + Twine(*block));
    return success();
  }
  if (blocks == 0 ? side.depth() != 0 : side.depth() % blocks != 0)
    return fail("whose last dimension divides that of the values (or a block_size)");
  side.block = blocks == 0 ? 1 : std::max<int64_t>(1, side.depth() / blocks);
  return success();
}

/// Reads a call; fails with an error at it.
FailureOr<ScaledDot> read(stablehlo::CustomCallOp call) {
  const unsigned count = call->getNumOperands();
  if (count < 3 || count > 5 || call->getNumResults() != 1)
    return call.emitOpError() << "needs 3 to 5 operands (lhs, rhs, scales of lhs, scales of rhs, "
                                 "global scale) and one result, got "
                              << count << " operands and " << call->getNumResults() << " results";
  SmallVector<TypedValue<RankedTensorType>> operands;
  for (Value operand : call.getInputs()) {
    auto typed = dyn_cast<TypedValue<RankedTensorType>>(operand);
    if (!typed || !isReal(typed.getType()))
      return call.emitOpError() << "needs operands of a float type and a static shape, got "
                                << operand.getType();
    operands.push_back(typed);
  }
  ScaledDot dot;
  dot.lhs.name = "lhs", dot.rhs.name = "rhs";
  dot.result = dyn_cast<RankedTensorType>(call->getResult(0).getType());
  if (!isReal(dot.result))
    return call.emitOpError() << "needs a result of a float type and a static shape, got "
                              << call->getResult(0).getType();
  dot.lhs.values = operands[0], dot.rhs.values = operands[1], dot.lhs.scales = operands[2];
  if (count > 3)
    dot.rhs.scales = operands[3];
  if (count > 4)
    dot.globalScale = operands[4];
  if (dot.globalScale && dot.globalScale.getType().getNumElements() != 1)
    return call.emitOpError() << "needs a global scale of one element, got "
                              << dot.globalScale.getType();
  std::optional<Configuration> configuration =
      configurationOf(call, dot.lhs.values.getType().getRank());
  if (!configuration)
    return call.emitOpError() << "has a backend_config that is not of the form "
                                 "{\"scaled_dot_backend_config\": {\"lhs_batch_dimensions\": [0], "
                                 "\"rhs_batch_dimensions\": [0]}}";
  dot.lhs.batching = configuration->lhsBatching, dot.rhs.batching = configuration->rhsBatching;
  for (Side *side : {&dot.lhs, &dot.rhs})
    if (failed(checkSide(call, *side, configuration->block)))
      return failure();

  // The result's dimensions: the batch, the rows of lhs, the rows of rhs.
  auto sizes = [](const Side &side, bool isBatch) {
    SmallVector<int64_t> found;
    ArrayRef<int64_t> shape = side.values.getType().getShape();
    if (isBatch)
      return llvm::map_to_vector(side.batching,
                                 [&](int64_t dim) { return shape[static_cast<size_t>(dim)]; });
    for (auto [dim, size] : llvm::enumerate(shape.drop_back()))
      if (!llvm::is_contained(side.batching, static_cast<int64_t>(dim)))
        found.push_back(size);
    return found;
  };
  SmallVector<int64_t> expected = sizes(dot.lhs, true);
  if (expected != sizes(dot.rhs, true) || dot.lhs.depth() != dot.rhs.depth())
    return call.emitOpError() << "needs equal batch dimensions and equal last dimensions, got lhs "
                              << dot.lhs.values.getType() << " and rhs "
                              << dot.rhs.values.getType();
  llvm::append_range(expected, sizes(dot.lhs, false));
  llvm::append_range(expected, sizes(dot.rhs, false));
  if (dot.result.getShape() != ArrayRef(expected))
    return call.emitOpError() << "needs a result of "
                              << RankedTensorType::get(expected, dot.result.getElementType())
                              << ", got " << dot.result;
  return dot;
}

/// The bits of a type's mantissa, with the leading one.
unsigned precisionOf(TypedValue<RankedTensorType> value) {
  return cast<FloatType>(value.getType().getElementType()).getFPMantissaWidth();
}

/// Whether bf16 has enough precision for each scaled element.
bool isExactInBf16(const Side &side) {
  return precisionOf(side.values) + (side.scales ? precisionOf(side.scales) : 0) <= 8;
}

class Expander : public TensorBuilder {
public:
  using TensorBuilder::TensorBuilder;

  Value expand(const ScaledDot &dot) {
    const bool isNarrow = isExactInBf16(dot.lhs) && isExactInBf16(dot.rhs);
    Type factors = isNarrow ? Type(builder.getBF16Type()) : Type(builder.getF32Type());
    // Products are rounded once: after the global scale, if there is one.
    Type final = dot.result.getElementType(), sums = builder.getF32Type();
    if (!dot.globalScale && final.isBF16())
      sums = final;
    auto numbers = stablehlo::DotDimensionNumbersAttr::get(
        builder.getContext(), dot.lhs.batching, dot.rhs.batching,
        {dot.lhs.values.getType().getRank() - 1}, {dot.rhs.values.getType().getRank() - 1});
    auto precision = stablehlo::PrecisionAttr::get(builder.getContext(),
                                                   isNarrow ? stablehlo::Precision::DEFAULT
                                                            : stablehlo::Precision::HIGHEST);
    Value product = stablehlo::DotGeneralOp::create(
        builder, location, RankedTensorType::get(dot.result.getShape(), sums),
        scaled(dot.lhs, factors), scaled(dot.rhs, factors), numbers,
        builder.getArrayAttr({precision, precision}), nullptr);
    if (dot.globalScale) {
      Value global = reshape(convert(dot.globalScale, sums), {});
      product = multiply(product, broadcast(global, dot.result.getShape()));
    }
    return convert(product, final);
  }

private:
  /// The elements of an operand, multiplied by their scales.
  Value scaled(const Side &side, Type type) {
    Value values = convert(side.values, type);
    if (!side.scales)
      return values;
    SmallVector<int64_t> shape(side.values.getType().getShape());
    // Removes padding of the scales first, so that it is never converted or multiplied.
    SmallVector<int64_t> needed = shape;
    needed.back() = blocksOf(side);
    const SmallVector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
    Value scales = side.scales;
    if (side.scales.getType().getShape() != ArrayRef(needed))
      scales = slice(scales, zeros, needed, ones);
    scales = convert(scales, type);
    SmallVector<int64_t> blocks = needed, dims(shape.size());
    blocks.push_back(side.block);
    std::iota(dims.begin(), dims.end(), 0);
    SmallVector<int64_t> whole = shape;
    whole.back() = needed.back() * side.block;
    scales = reshape(broadcast(scales, blocks, dims), whole);
    if (whole != shape)
      scales = slice(scales, zeros, shape, ones);
    return multiply(values, scales);
  }
};

} // namespace

LogicalResult expandScaledDots(ModuleOp module) {
  SmallVector<stablehlo::CustomCallOp> calls;
  module.walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() == target)
      calls.push_back(call);
  });
  for (stablehlo::CustomCallOp call : calls) {
    FailureOr<ScaledDot> dot = read(call);
    if (failed(dot))
      return failure();
    OpBuilder builder(call);
    call->getResult(0).replaceAllUsesWith(Expander(builder, call.getLoc()).expand(*dot));
    call.erase();
  }
  return success();
}

} // namespace tilewright::simplify
