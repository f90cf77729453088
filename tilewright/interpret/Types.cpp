#include "tilewright/interpret/Types.h"

#include "tilewright/dialect/source/Source.h"
#include "tilewright/interpret/StopAt.h"

#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace tilewright::interpret {

static std::optional<ElementType> integerTypeOf(mlir::IntegerType type) {
  return numerics::integerOfWidth(type.getWidth(), type.isUnsigned());
}

std::optional<ElementType> elementTypeOf(mlir::Type type) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type))
    return integerTypeOf(integer);
  if (llvm::isa<mlir::IndexType>(type))
    return ElementType::i64;
  if (auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(type)) {
    auto storage = mlir::IntegerType::get(
        type.getContext(), quantized.getStorageTypeIntegralWidth(),
        quantized.isSigned() ? mlir::IntegerType::Signless : mlir::IntegerType::Unsigned);
    return integerTypeOf(storage);
  }
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return ElementType::c64;
    if (complex.getElementType().isF64())
      return ElementType::c128;
    return std::nullopt;
  }
  return llvm::TypeSwitch<mlir::Type, std::optional<ElementType>>(type)
      .Case<mlir::Float4E2M1FNType>([](auto) { return ElementType::f4E2M1FN; })
      .Case<mlir::Float6E2M3FNType>([](auto) { return ElementType::f6E2M3FN; })
      .Case<mlir::Float6E3M2FNType>([](auto) { return ElementType::f6E3M2FN; })
      .Case<mlir::Float8E3M4Type>([](auto) { return ElementType::f8E3M4; })
      .Case<mlir::Float8E4M3Type>([](auto) { return ElementType::f8E4M3; })
      .Case<mlir::Float8E4M3FNType>([](auto) { return ElementType::f8E4M3FN; })
      .Case<mlir::Float8E4M3FNUZType>([](auto) { return ElementType::f8E4M3FNUZ; })
      .Case<mlir::Float8E4M3B11FNUZType>([](auto) { return ElementType::f8E4M3B11FNUZ; })
      .Case<mlir::Float8E5M2Type>([](auto) { return ElementType::f8E5M2; })
      .Case<mlir::Float8E5M2FNUZType>([](auto) { return ElementType::f8E5M2FNUZ; })
      .Case<mlir::Float8E8M0FNUType>([](auto) { return ElementType::f8E8M0FNU; })
      .Case<mlir::BFloat16Type>([](auto) { return ElementType::bf16; })
      .Case<mlir::Float16Type>([](auto) { return ElementType::f16; })
      .Case<mlir::FloatTF32Type>([](auto) { return ElementType::tf32; })
      .Case<mlir::Float32Type>([](auto) { return ElementType::f32; })
      .Case<mlir::Float64Type>([](auto) { return ElementType::f64; })
      .Default([](auto) { return std::nullopt; });
}

mlir::Type typeOf(ElementType type, mlir::MLIRContext &context) {
  const unsigned bits = numerics::bitWidth(type);
  switch (type) {
  case ElementType::f4E2M1FN:
    return mlir::Float4E2M1FNType::get(&context);
  case ElementType::f6E2M3FN:
    return mlir::Float6E2M3FNType::get(&context);
  case ElementType::f6E3M2FN:
    return mlir::Float6E3M2FNType::get(&context);
  case ElementType::f8E3M4:
    return mlir::Float8E3M4Type::get(&context);
  case ElementType::f8E4M3:
    return mlir::Float8E4M3Type::get(&context);
  case ElementType::f8E4M3FN:
    return mlir::Float8E4M3FNType::get(&context);
  case ElementType::f8E4M3FNUZ:
    return mlir::Float8E4M3FNUZType::get(&context);
  case ElementType::f8E4M3B11FNUZ:
    return mlir::Float8E4M3B11FNUZType::get(&context);
  case ElementType::f8E5M2:
    return mlir::Float8E5M2Type::get(&context);
  case ElementType::f8E5M2FNUZ:
    return mlir::Float8E5M2FNUZType::get(&context);
  case ElementType::f8E8M0FNU:
    return mlir::Float8E8M0FNUType::get(&context);
  case ElementType::bf16:
    return mlir::BFloat16Type::get(&context);
  case ElementType::f16:
    return mlir::Float16Type::get(&context);
  case ElementType::tf32:
    return mlir::FloatTF32Type::get(&context);
  case ElementType::f32:
    return mlir::Float32Type::get(&context);
  case ElementType::f64:
    return mlir::Float64Type::get(&context);
  case ElementType::c64:
  case ElementType::c128:
    return mlir::ComplexType::get(typeOf(numerics::componentOf(type), context));
  default:
    return mlir::IntegerType::get(&context, bits,
                                  numerics::isUnsigned(type) ? mlir::IntegerType::Unsigned
                                                             : mlir::IntegerType::Signless);
  }
}

/// The type as MLIR prints it.
static std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Result<Shape> staticShapeOf(mlir::RankedTensorType type) {
  if (!type.hasStaticShape())
    return Status(Error::interpretShape,
                  concat("the result must have a static shape, got ", textOf(type)));
  return Shape::create(type.getShape());
}

bool isTensorOf(const Tensor &tensor, mlir::RankedTensorType type) {
  if (elementTypeOf(type.getElementType()) != tensor.type() || type.getRank() != tensor.rank())
    return false;
  for (int64_t dim = 0; dim < tensor.rank(); ++dim)
    if (!type.isDynamicDim(static_cast<unsigned>(dim)) &&
        type.getDimSize(static_cast<unsigned>(dim)) != tensor.shape()[dim])
      return false;
  return true;
}

/// Unpacks bits, eight to a byte, lowest first, into booleans of one byte each.
static Result<Tensor> unpackedBits(const char *bits, Shape shape, Context &context) {
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(ElementType::pred, std::move(shape), context));
  std::byte *out = tensor.mutableData();
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    out[i] = static_cast<std::byte>((bits[i / 8] >> (i % 8)) & 1);
  return tensor;
}

/// MLIR stores tf32 as 19 bits in three bytes; we use the upper 19 bits of four bytes.
static Result<Tensor> widenedTf32(const char *bytes, bool splat, Shape shape, Context &context) {
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(ElementType::tf32, std::move(shape), context));
  std::byte *out = tensor.mutableData();
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes + (splat ? 0 : i * 3), 3);
    bits <<= 13;
    std::memcpy(out + i * 4, &bits, sizeof bits);
  }
  return tensor;
}

Result<Tensor> constantTensor(mlir::ElementsAttr attribute, Context &context) {
  auto shaped = llvm::cast<mlir::ShapedType>(attribute.getType());
  std::optional<ElementType> type = elementTypeOf(shaped.getElementType());
  if (!type)
    return Status(Code::unimplemented,
                  concat("constants with elements of type ", textOf(shaped.getElementType()),
                         " are not supported"));
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(shaped.getShape()));
  const int64_t bytes = shape.byteCount(*type);

  if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(attribute)) {
    const llvm::ArrayRef<char> raw = dense.getRawData();
    const auto *data = reinterpret_cast<const std::byte *>(raw.data());
    if (*type == ElementType::tf32)
      return widenedTf32(raw.data(), dense.isSplat(), std::move(shape), context);
    if (dense.isSplat()) {
      if (*type == ElementType::pred)
        return Tensor::filled(*type, std::move(shape),
                              Scalar::ofUnsigned(dense.getSplatValue<bool>()), context);
      return Tensor::copies(*type, std::move(shape), data, context);
    }
    if (static_cast<int64_t>(raw.size()) == bytes)
      return Tensor::view(*type, std::move(shape), data, nullptr);
    if (*type == ElementType::pred)
      return unpackedBits(raw.data(), std::move(shape), context);
  }
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(attribute)) {
    const mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return Status(Code::dataLoss, concat("constant '", resource.getRawHandle().getKey().str(),
                                           "' has no data in this module"));
    const llvm::ArrayRef<char> raw = blob->getData();
    if (static_cast<int64_t>(raw.size()) == bytes)
      return Tensor::view(*type, std::move(shape), reinterpret_cast<const std::byte *>(raw.data()),
                          nullptr);
    if (*type == ElementType::pred &&
        static_cast<int64_t>(raw.size()) >= (shape.elementCount() + 7) / 8)
      return unpackedBits(raw.data(), std::move(shape), context);
    return Status(Code::dataLoss, concat("constant '", resource.getRawHandle().getKey().str(),
                                         "' must have ", bytes, " bytes, got ", raw.size()));
  }
  return Status(Code::unimplemented,
                concat("constants must be dense or dense_resource, got another "
                       "attribute of type ",
                       textOf(shaped)));
}

std::vector<int64_t> integersOf(mlir::ElementsAttr attribute) {
  std::vector<int64_t> values;
  for (const llvm::APInt &value :
       llvm::cast<mlir::DenseElementsAttr>(attribute).getValues<llvm::APInt>())
    values.push_back(value.getSExtValue());
  return values;
}

std::string describe(mlir::Operation *op) {
  const std::string source = source::placeOf(op->getLoc());
  return concat("'", op->getName().getStringRef().str(), "'", source.empty() ? "" : " at ", source);
}

} // namespace tilewright::interpret
