#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tilewright::stablehlo;

//===----------------------------------------------------------------------===//
// Types that agree
//===----------------------------------------------------------------------===//

bool tilewright::stablehlo::sizesAgree(int64_t left, int64_t right) {
  return left == right || ShapedType::isDynamic(left) || ShapedType::isDynamic(right);
}

bool tilewright::stablehlo::shapesAgree(ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  return left.size() == right.size() && llvm::all_of(llvm::zip(left, right), [](auto sizes) {
           return sizesAgree(std::get<0>(sizes), std::get<1>(sizes));
         });
}

bool tilewright::stablehlo::typesAgree(Type left, Type right) {
  auto leftTensor = dyn_cast<RankedTensorType>(left);
  auto rightTensor = dyn_cast<RankedTensorType>(right);
  if (!leftTensor || !rightTensor)
    return left == right;
  return leftTensor.getElementType() == rightTensor.getElementType() &&
         shapesAgree(leftTensor.getShape(), rightTensor.getShape());
}

bool tilewright::stablehlo::typesAgree(TypeRange left, TypeRange right) {
  return left.size() == right.size() && llvm::all_of(llvm::zip(left, right), [](auto types) {
           return typesAgree(std::get<0>(types), std::get<1>(types));
         });
}

bool tilewright::stablehlo::isPromotable(Type from, Type to) {
  if (from == to)
    return true;
  auto narrower = [](Type left, Type right) {
    return left.getIntOrFloatBitWidth() <= right.getIntOrFloatBitWidth();
  };
  if (auto fromInt = dyn_cast<IntegerType>(from))
    return isa<IntegerType>(to) && fromInt.isInteger(1) == to.isInteger(1) && narrower(from, to);
  if (isa<FloatType>(from))
    return isa<FloatType>(to) && narrower(from, to);
  if (auto fromComplex = dyn_cast<ComplexType>(from)) {
    auto toComplex = dyn_cast<ComplexType>(to);
    return toComplex && isPromotable(fromComplex.getElementType(), toComplex.getElementType());
  }
  auto fromQuantized = dyn_cast<quant::QuantizedType>(from);
  auto toQuantized = dyn_cast<quant::QuantizedType>(to);
  return fromQuantized && toQuantized &&
         fromQuantized.getExpressedType() == toQuantized.getExpressedType() &&
         fromQuantized.getStorageTypeIntegralWidth() <= toQuantized.getStorageTypeIntegralWidth();
}

ArrayRef<int64_t> tilewright::stablehlo::shapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

Type tilewright::stablehlo::elementOf(Type type) { return getElementTypeOrSelf(type); }

std::string tilewright::stablehlo::shapeText(ArrayRef<int64_t> sizes) {
  std::string text = "[";
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(sizes, out, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      out << "?";
    else
      out << size;
  });
  return text + "]";
}

DenseIntElementsAttr tilewright::stablehlo::knownIntegers(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto integers =
      constant ? dyn_cast_or_null<DenseIntElementsAttr>(constant.getValueAttr()) : nullptr;
  return integers && integers.getType() == value.getType() ? integers : nullptr;
}

//===----------------------------------------------------------------------===//
// Lists of dimensions
//===----------------------------------------------------------------------===//

LogicalResult tilewright::stablehlo::verifyInRange(Operation *op, StringRef name,
                                                   ArrayRef<int64_t> dims, StringRef what,
                                                   int64_t rank) {
  for (int64_t dim : dims)
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << name << " must be dimensions of " << what << ", in [0, " << rank
                               << "), got " << dim;
  return success();
}

LogicalResult tilewright::stablehlo::verifyUnique(Operation *op, StringRef name,
                                                  ArrayRef<int64_t> dims, ArrayRef<int64_t> more) {
  // Sorted, not hashed: LLVM's hash sets reserve two key values.
  SmallVector<int64_t> sorted(dims);
  llvm::append_range(sorted, more);
  llvm::sort(sorted);
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return op->emitOpError() << name << " must be unique, got " << *twice << " twice";
  return success();
}

LogicalResult tilewright::stablehlo::verifySorted(Operation *op, StringRef name,
                                                  ArrayRef<int64_t> dims) {
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i] < dims[i - 1])
      return op->emitOpError() << name << " must be in increasing order, got " << dims[i]
                               << " after " << dims[i - 1];
  return success();
}

LogicalResult tilewright::stablehlo::verifyOnePerDimension(Operation *op, StringRef name,
                                                           int64_t size, StringRef what,
                                                           int64_t rank) {
  if (size == rank)
    return success();
  return op->emitOpError() << name << " must have one entry for each dimension of " << what
                           << ", got " << size << " for " << rank;
}

LogicalResult tilewright::stablehlo::verifyPositive(Operation *op, StringRef name,
                                                    ArrayRef<int64_t> sizes) {
  for (auto [index, size] : llvm::enumerate(sizes))
    if (size < 1)
      return op->emitOpError() << name << " must be at least 1, got " << size << " at index "
                               << index;
  return success();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// The size after inserting `dilation - 1` holes between adjacent elements.
static std::optional<int64_t> dilatedSize(int64_t size, int64_t dilation) {
  if (size == 0)
    return 0;
  std::optional<int64_t> span = llvm::checkedMul(size - 1, dilation);
  return span ? llvm::checkedAdd<int64_t>(*span, 1) : std::nullopt;
}

std::optional<int64_t> tilewright::stablehlo::countWindows(int64_t inputSize,
                                                           const Window &window) {
  if (ShapedType::isDynamic(inputSize))
    return ShapedType::kDynamic;
  std::optional<int64_t> input = dilatedSize(inputSize, window.baseDilation);
  std::optional<int64_t> extent = dilatedSize(window.size, window.windowDilation);
  if (!input || !extent)
    return std::nullopt;
  std::optional<int64_t> padded = llvm::checkedAdd(*input, window.lowPadding);
  if (padded)
    padded = llvm::checkedAdd(*padded, window.highPadding);
  if (!padded)
    return std::nullopt;
  // Negative padding can remove more than the input's size.
  if (*padded <= 0 || *extent > *padded)
    return 0;
  return (*padded - *extent) / window.stride + 1;
}

SmallVector<int64_t> tilewright::stablehlo::paddingEntries(DenseIntElementsAttr padding) {
  return llvm::to_vector(padding.getValues<int64_t>());
}

LogicalResult tilewright::stablehlo::verifyPaddingShape(Operation *op, DenseIntElementsAttr padding,
                                                        int64_t rank) {
  if (!padding)
    return success();
  ArrayRef<int64_t> shape = padding.getType().getShape();
  if (shape.size() == 2 && shape[0] == rank && shape[1] == 2)
    return success();
  return op->emitOpError() << "padding must have two entries for each dimension, shape [" << rank
                           << ", 2], got " << shapeText(shape);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

TypeRange tilewright::stablehlo::returnedTypes(Region &region) {
  return region.front().getTerminator()->getOperandTypes();
}

/// Whether `type` is `tensor<element>`.
static bool isScalarOf(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && tensor.getElementType() == element;
}

FailureOr<SmallVector<Type>> tilewright::stablehlo::verifyReducer(Operation *op, StringRef name,
                                                                  Region &region,
                                                                  TypeRange inputs) {
  TypeRange returned = returnedTypes(region);
  TypeRange arguments = region.getArgumentTypes();
  size_t count = inputs.size();
  if (arguments.size() != 2 * count || returned.size() != count)
    return op->emitOpError() << name << " must take " << 2 * count << " scalars and return "
                             << count << ", got " << arguments.size() << " and " << returned.size();
  SmallVector<Type> elements;
  for (size_t i = 0; i < count; ++i) {
    Type element = elementOf(returned[i]);
    if (!isScalarOf(returned[i], element) || arguments[i] != returned[i] ||
        arguments[count + i] != returned[i])
      return op->emitOpError() << name << " must take and return the same type of scalar for input "
                               << i << ", got arguments " << arguments[i] << " and "
                               << arguments[count + i] << " and result " << returned[i];
    if (!isPromotable(elementOf(inputs[i]), element)) {
      InFlightDiagnostic diag = op->emitOpError()
                                << name << " must use a type to which input " << i
                                << " can be promoted, got input type " << elementOf(inputs[i])
                                << " and computation type " << element;
      diag.attachNote() << "a promotion must keep the kind of number and must not make it narrower";
      return diag;
    }
    elements.push_back(element);
  }
  return elements;
}

LogicalResult tilewright::stablehlo::verifyResultElements(Operation *op, TypeRange results,
                                                          ArrayRef<Type> elements) {
  for (auto [index, result, element] : llvm::enumerate(results, elements))
    if (elementOf(result) != element)
      return op->emitOpError() << "result " << index
                               << " must have the element type of its computation, " << element
                               << ", got " << elementOf(result);
  return success();
}

LogicalResult tilewright::stablehlo::verifyArguments(Operation *op, StringRef name, Region &region,
                                                     TypeRange expected) {
  TypeRange arguments = region.getArgumentTypes();
  if (arguments.size() != expected.size())
    return op->emitOpError() << name << " must take " << expected.size() << " arguments, got "
                             << arguments.size();
  for (auto [index, argument, type] : llvm::enumerate(arguments, expected))
    if (!typesAgree(argument, type))
      return op->emitOpError() << name << " must take " << type << " as argument " << index
                               << ", got " << argument;
  return success();
}

LogicalResult tilewright::stablehlo::verifyReturned(Operation *op, StringRef name, Region &region,
                                                    TypeRange expected) {
  TypeRange returned = returnedTypes(region);
  if (returned.size() != expected.size())
    return op->emitOpError() << name << " must return " << expected.size() << " values, got "
                             << returned.size();
  for (auto [index, value, type] : llvm::enumerate(returned, expected))
    if (!typesAgree(value, type))
      return op->emitOpError() << name << " must return " << type << " as value " << index
                               << ", got " << value;
  return success();
}
