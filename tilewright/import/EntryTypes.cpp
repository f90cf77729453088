// Types: VHLO types and builtin types become the same builtin types.
#include "tilewright/import/EntryBuilder.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloTypes.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <bit>

using namespace tilewright;
using namespace tilewright::bytecode;
using numerics::ElementType;

namespace {

mlir::Type realType(mlir::MLIRContext &context, ElementType element) {
  switch (element) {
#define TILEWRIGHT_REAL_TYPE(element, mlirType)                                                    \
  case ElementType::element:                                                                       \
    return mlir::mlirType::get(&context);
#include "tilewright/import/RealTypes.def"
  default:
    return {};
  }
}

mlir::IntegerType::SignednessSemantics signednessOf(Signedness signedness) {
  switch (signedness) {
  case Signedness::signless:
    return mlir::IntegerType::Signless;
  case Signedness::signedInteger:
    return mlir::IntegerType::Signed;
  case Signedness::unsignedInteger:
    return mlir::IntegerType::Unsigned;
  }
  return mlir::IntegerType::Signless;
}

} // namespace

Result<mlir::Type> EntryBuilder::type(TypeId id) {
  if (mlir::Type built = builtTypes[id])
    return built;
  TILEWRIGHT_ASSIGN(builtTypes[id], buildType(id));
  return builtTypes[id];
}

Status EntryBuilder::types(std::span<const TypeId> ids, llvm::SmallVectorImpl<mlir::Type> &out) {
  for (TypeId id : ids) {
    TILEWRIGHT_ASSIGN(mlir::Type built, type(id));
    out.push_back(built);
  }
  return Status();
}

Result<mlir::Type> EntryBuilder::buildType(TypeId id) {
  const Type &type = module.types[id];
  auto emit = [this] { return emitError(); };
  mlir::Type inner;
  if (type.inner != absent) {
    TILEWRIGHT_ASSIGN(inner, this->type(type.inner));
  }

  switch (type.kind) {
  case TypeKind::integer:
    if (type.width == 0 || type.width > mlir::IntegerType::kMaxWidth)
      return invalidType(id, concat("an integer type must have 1 to ", mlir::IntegerType::kMaxWidth,
                                    " bits, got ", type.width));
    return mlir::IntegerType::get(&mlirContext, type.width, signednessOf(type.signedness));
  case TypeKind::real:
    return checked(realType(mlirContext, type.element), id);
  case TypeKind::index:
    return mlir::IndexType::get(&mlirContext);
  case TypeKind::none:
    return mlir::NoneType::get(&mlirContext);
  case TypeKind::token:
    return stablehlo::TokenType::get(&mlirContext);
  case TypeKind::witness:
    return invalidType(id, "shape witnesses are not part of StableHLO");
  case TypeKind::complex:
    return checked(mlir::ComplexType::getChecked(emit, inner), id);
  case TypeKind::tensor: {
    mlir::Attribute encoding;
    if (type.encoding != absent) {
      if (entry(type.encoding).kind != AttrKind::vhloTypeExtensions)
        return invalidType(id, "the encoding of a tensor type must be its bounds");
      TILEWRIGHT_ASSIGN(encoding, attribute(type.encoding));
    }
    return checked(
        mlir::RankedTensorType::getChecked(emit, module.numbersIn(type.dims), inner, encoding), id);
  }
  case TypeKind::unrankedTensor:
    return checked(mlir::UnrankedTensorType::getChecked(emit, inner), id);
  case TypeKind::buffer:
    return checked(mlir::MemRefType::getChecked(emit, module.numbersIn(type.dims), inner,
                                                mlir::MemRefLayoutAttrInterface(),
                                                mlir::Attribute()),
                   id);
  case TypeKind::tuple: {
    llvm::SmallVector<mlir::Type> parts;
    TILEWRIGHT_TRY(types(module.typesIn(type.types), parts));
    return mlir::TupleType::get(&mlirContext, parts);
  }
  case TypeKind::function: {
    llvm::SmallVector<mlir::Type> inputs, results;
    TILEWRIGHT_TRY(types(module.typesIn(type.types), inputs));
    TILEWRIGHT_TRY(types(module.typesIn(type.results), results));
    return mlir::FunctionType::get(&mlirContext, inputs, results);
  }
  case TypeKind::future: {
    llvm::SmallVector<mlir::Type> parts;
    TILEWRIGHT_TRY(types(module.typesIn(type.types), parts));
    return stablehlo::FutureType::get(&mlirContext, parts);
  }
  case TypeKind::quantized:
  case TypeKind::quantizedPerAxis:
    return buildQuantized(type, id);
  }
  return invalidType(id, "unknown type kind");
}

Result<mlir::Type> EntryBuilder::buildQuantized(const Type &type, TypeId id) {
  const Quantization &quantization = module.quantizations[type.quantization];
  TILEWRIGHT_ASSIGN(mlir::Type storage, this->type(quantization.storage));
  TILEWRIGHT_ASSIGN(mlir::Type expressed, this->type(quantization.expressed));
  // The quant dialect keeps signedness in a flag and requires signless storage types; `signed` is
  // its only flag.
  if (quantization.flags > mlir::quant::QuantizationFlags::Signed)
    return invalidType(id, concat("quantization flags must be 0 or 1, got ", quantization.flags));
  auto flags = static_cast<unsigned>(quantization.flags);
  auto emit = [this] { return emitError(); };

  llvm::SmallVector<double> scales;
  for (int64_t bits : module.numbersIn(quantization.scales))
    scales.push_back(std::bit_cast<double>(bits));
  llvm::ArrayRef<int64_t> zeroPoints = module.numbersIn(quantization.zeroPoints);

  if (type.kind == TypeKind::quantized)
    return checked(mlir::quant::UniformQuantizedType::getChecked(
                       emit, flags, storage, expressed, scales.front(), zeroPoints.front(),
                       quantization.storageMin, quantization.storageMax),
                   id);
  if (quantization.axis > INT32_MAX)
    return invalidType(id, concat("a quantized dimension must be at most ", INT32_MAX, ", got ",
                                  quantization.axis));
  return checked(mlir::quant::UniformQuantizedPerAxisType::getChecked(
                     emit, flags, storage, expressed, scales, zeroPoints,
                     static_cast<int32_t>(quantization.axis), quantization.storageMin,
                     quantization.storageMax),
                 id);
}
