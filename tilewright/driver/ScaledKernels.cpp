#include "tilewright/driver/ScaledKernels.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/Types.h"

using namespace mlir;

namespace tilewright::driver {

static constexpr StringLiteral attributeName = "exec.scaled";

/// The number of the argument of the fusion; -1 if the value is not one.
static int64_t argumentNumber(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? argument.getArgNumber() : -1;
}

/// The scalar f32 argument that is broadcast to `value`; -1 if there is none.
static int64_t factorOf(Value value) {
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast)
    return -1;
  auto type = cast<RankedTensorType>(broadcast.getOperand().getType());
  return type.getElementType().isF32() && type.getNumElements() == 1
             ? argumentNumber(broadcast.getOperand())
             : -1;
}

/// The numbers of "exec.scaled"; nullopt if the fusion computes something else.
static std::optional<SmallVector<int64_t>> describe(exec::FusionOp fusion) {
  Block &body = fusion.getBody().front();
  auto products = body.getOps<exec::ScaledMatmulOp>();
  Operation *yield = body.getTerminator();
  if (products.empty() || yield->getNumOperands() != 1)
    return std::nullopt;
  exec::ScaledMatmulOp product = *products.begin();
  Value value = yield->getOperand(0);
  auto result = cast<RankedTensorType>(value.getType());
  size_t expected = 1; // ops of the body, besides the terminator
  if (auto convert = value.getDefiningOp<stablehlo::ConvertOp>()) {
    value = convert.getOperand();
    if (!cast<RankedTensorType>(value.getType()).getElementType().isF32())
      return std::nullopt; // rounded twice
    ++expected;
  }
  int64_t factor = -1;
  if (auto multiply = value.getDefiningOp<stablehlo::MultiplyOp>()) {
    for (auto [sums, other] : {std::pair(multiply.getLhs(), multiply.getRhs()),
                               std::pair(multiply.getRhs(), multiply.getLhs())})
      if (factor < 0 && sums == product.getResult()) {
        factor = factorOf(other);
        value = sums;
      }
    if (factor < 0 || !cast<RankedTensorType>(value.getType()).getElementType().isF32())
      return std::nullopt;
    expected += 2; // the product and the broadcast
  }
  std::optional<numerics::ElementType> types[] = {
      interpret::elementTypeOf(product.getLhsType()),
      interpret::elementTypeOf(product.getRhsType()),
      interpret::elementTypeOf(product.getScaleType()),
      interpret::elementTypeOf(result.getElementType())};
  const auto count = static_cast<size_t>(
      std::distance(body.without_terminator().begin(), body.without_terminator().end()));
  if (value != product.getResult() || count != expected ||
      !llvm::all_of(types, [](auto type) { return type.has_value(); }))
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (Value operand :
       {product.getLhs(), product.getRhs(), product.getLhsScale(), product.getRhsScale()})
    numbers.push_back(argumentNumber(operand));
  if (llvm::is_contained(numbers, -1))
    return std::nullopt;
  numbers.push_back(factor);
  for (std::optional<numerics::ElementType> type : types)
    numbers.push_back(static_cast<int64_t>(*type));
  const ArrayRef<int64_t> shape = cast<RankedTensorType>(product.getResult().getType()).getShape();
  numbers.append({static_cast<int64_t>(product.getBlock()), shape.size() > 2 ? shape[0] : 1,
                  shape[shape.size() - 2], shape.back(), product.getDepth()});
  return numbers;
}

void markScaledProducts(ModuleOp module) {
  Builder builder(module.getContext());
  module.walk([&](exec::FusionOp fusion) {
    if (std::optional<SmallVector<int64_t>> numbers = describe(fusion))
      fusion->setDiscardableAttr(attributeName, builder.getDenseI64ArrayAttr(*numbers));
  });
}

std::optional<artifact::ScaledProduct> scaledProductOf(Operation *launch, artifact::Index kernel) {
  auto numbers = launch->getAttrOfType<DenseI64ArrayAttr>(attributeName);
  if (!numbers || numbers.size() != 14)
    return std::nullopt;
  ArrayRef<int64_t> at = numbers.asArrayRef();
  auto index = [](int64_t number) {
    return number < 0 ? artifact::none : static_cast<artifact::Index>(number);
  };
  auto type = [](int64_t number) { return static_cast<numerics::ElementType>(number); };
  return artifact::ScaledProduct{kernel,
                                 index(at[0]),
                                 index(at[1]),
                                 index(at[2]),
                                 index(at[3]),
                                 index(at[4]),
                                 launch->getNumOperands(),
                                 type(at[5]),
                                 type(at[6]),
                                 type(at[7]),
                                 type(at[8]),
                                 at[9],
                                 at[10],
                                 at[11],
                                 at[12],
                                 at[13]};
}

} // namespace tilewright::driver
