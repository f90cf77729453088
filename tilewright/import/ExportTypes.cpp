// Types: converts them to VHLO's or keeps the builtin ones.
#include "tilewright/import/ExportEntries.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/dialect/stablehlo/StablehloTypes.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>

namespace tilewright {

using bytecode::Range;
using bytecode::Type;
using bytecode::TypeId;
using bytecode::TypeKind;
using bytecode::Version;
using numerics::ElementType;

namespace {

std::optional<ElementType> realOf(mlir::Type type) {
#define TILEWRIGHT_REAL_TYPE(element, mlirType)                                                    \
  if (llvm::isa<mlir::mlirType>(type))                                                             \
    return ElementType::element;
#include "tilewright/import/RealTypes.def"
  return std::nullopt;
}

/// The StableHLO version that added a floating-point type to VHLO.
Version sinceOf(ElementType element) {
  switch (element) {
  case ElementType::f8E4M3FNUZ:
  case ElementType::f8E5M2FNUZ:
    return {0, 10};
  case ElementType::f8E4M3B11FNUZ:
    return {0, 11};
  case ElementType::tf32:
    return {1, 6};
  case ElementType::f8E3M4:
  case ElementType::f8E4M3:
    return {1, 7};
  case ElementType::f4E2M1FN:
  case ElementType::f6E2M3FN:
  case ElementType::f6E3M2FN:
  case ElementType::f8E8M0FNU:
    return {1, 8};
  default:
    return bytecode::oldestVersion;
  }
}

std::string spelled(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

} // namespace

Result<TypeId> ExportEntries::type(mlir::Type type, Dialect dialect) {
  auto &known = dialect == Dialect::vhlo ? vhloTypes : builtinTypes;
  if (auto found = known.find(type); found != known.end())
    return found->second;
  TILEWRIGHT_ASSIGN(TypeId id, addType(type, dialect));
  known[type] = id;
  return id;
}

Result<Range> ExportEntries::types(mlir::TypeRange types, Dialect dialect) {
  llvm::SmallVector<TypeId> ids;
  for (mlir::Type each : types) {
    TILEWRIGHT_ASSIGN(TypeId id, type(each, dialect));
    ids.push_back(id);
  }
  return pool(tables.typeLists, ids);
}

Result<TypeId> ExportEntries::addType(mlir::Type type, Dialect dialect) {
  Type entry;
  entry.dialect = dialect;
  bool isVhlo = dialect == Dialect::vhlo;

  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
    entry.kind = TypeKind::integer;
    entry.width = integer.getWidth();
    entry.signedness = integer.isUnsigned() ? bytecode::Signedness::unsignedInteger
                       : integer.isSigned() ? bytecode::Signedness::signedInteger
                                            : bytecode::Signedness::signless;
    bool isKnown = std::has_single_bit(entry.width) && entry.width <= 64 && !integer.isSigned() &&
                   !(integer.isUnsigned() && entry.width == 1);
    if (isVhlo && !isKnown)
      return unsupported(concat("the type ", spelled(type)));
    if (entry.width == 2)
      TILEWRIGHT_TRY(need({1, 2}, spelled(type)));
    return addEntry(entry);
  }
  if (std::optional<ElementType> element = realOf(type)) {
    TILEWRIGHT_TRY(need(sinceOf(*element), spelled(type)));
    entry.kind = TypeKind::real;
    entry.element = *element;
    return addEntry(entry);
  }
  if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type)) {
    entry.kind = TypeKind::tensor;
    TILEWRIGHT_ASSIGN(entry.inner, this->type(tensor.getElementType(), dialect));
    if (mlir::Attribute encoding = tensor.getEncoding()) {
      TILEWRIGHT_ASSIGN(entry.encoding, vhlo(encoding));
    }
    entry.dims = numbers(tensor.getShape());
    return addEntry(entry);
  }
  if (llvm::isa<mlir::IndexType>(type)) {
    entry.kind = TypeKind::index;
    return addEntry(entry);
  }
  if (llvm::isa<mlir::NoneType>(type)) {
    if (isVhlo)
      TILEWRIGHT_TRY(need({1, 6}, "the type none"));
    entry.kind = TypeKind::none;
    return addEntry(entry);
  }
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type)) {
    entry.kind = TypeKind::complex;
    TILEWRIGHT_ASSIGN(entry.inner, this->type(complex.getElementType(), dialect));
    return addEntry(entry);
  }
  if (auto tuple = llvm::dyn_cast<mlir::TupleType>(type)) {
    entry.kind = TypeKind::tuple;
    TILEWRIGHT_ASSIGN(entry.types, types(tuple.getTypes(), dialect));
    return addEntry(entry);
  }
  if (auto function = llvm::dyn_cast<mlir::FunctionType>(type)) {
    entry.kind = TypeKind::function;
    TILEWRIGHT_ASSIGN(entry.types, types(function.getInputs(), dialect));
    TILEWRIGHT_ASSIGN(entry.results, types(function.getResults(), dialect));
    return addEntry(entry);
  }
  // The remaining types have no builtin spelling in an artifact.
  entry.dialect = Dialect::vhlo;
  if (llvm::isa<stablehlo::TokenType>(type)) {
    entry.kind = TypeKind::token;
    return addEntry(entry);
  }
  if (auto future = llvm::dyn_cast<stablehlo::FutureType>(type)) {
    TILEWRIGHT_TRY(need({1, 15}, "the type future"));
    entry.kind = TypeKind::future;
    TILEWRIGHT_ASSIGN(entry.types, types(future.getTypes(), Dialect::vhlo));
    return addEntry(entry);
  }
  if (auto unranked = llvm::dyn_cast<mlir::UnrankedTensorType>(type)) {
    entry.kind = TypeKind::unrankedTensor;
    TILEWRIGHT_ASSIGN(entry.inner, this->type(unranked.getElementType()));
    return addEntry(entry);
  }
  if (auto buffer = llvm::dyn_cast<mlir::MemRefType>(type);
      buffer && buffer.getLayout().isIdentity() && !buffer.getMemorySpace()) {
    TILEWRIGHT_TRY(need({1, 13}, "a buffer"));
    entry.kind = TypeKind::buffer;
    TILEWRIGHT_ASSIGN(entry.inner, this->type(buffer.getElementType()));
    entry.dims = numbers(buffer.getShape());
    return addEntry(entry);
  }
  if (llvm::isa<mlir::quant::QuantizedType>(type))
    return addQuantized(type);
  return unsupported(concat("the type ", spelled(type)));
}

Result<TypeId> ExportEntries::addQuantized(mlir::Type type) {
  auto quantized = llvm::cast<mlir::quant::QuantizedType>(type);
  bytecode::Quantization entry;
  entry.flags = quantized.getFlags();
  entry.storageMin = quantized.getStorageTypeMin();
  entry.storageMax = quantized.getStorageTypeMax();
  TILEWRIGHT_ASSIGN(entry.storage, this->type(quantized.getStorageType()));
  TILEWRIGHT_ASSIGN(entry.expressed, this->type(quantized.getExpressedType()));

  llvm::SmallVector<double> scales;
  llvm::SmallVector<int64_t> zeroPoints;
  Type built;
  if (auto uniform = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
    built.kind = TypeKind::quantized;
    scales = {uniform.getScale()};
    zeroPoints = {uniform.getZeroPoint()};
  } else if (auto perAxis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type)) {
    TILEWRIGHT_TRY(need({0, 18}, "quantization per axis"));
    built.kind = TypeKind::quantizedPerAxis;
    entry.axis = static_cast<uint64_t>(perAxis.getQuantizedDimension());
    scales.assign(perAxis.getScales().begin(), perAxis.getScales().end());
    zeroPoints.assign(perAxis.getZeroPoints().begin(), perAxis.getZeroPoints().end());
  } else {
    return unsupported(concat("the type ", spelled(type)));
  }
  llvm::SmallVector<int64_t> bits;
  for (double scale : scales)
    bits.push_back(std::bit_cast<int64_t>(scale));
  entry.scales = numbers(bits);
  entry.zeroPoints = numbers(zeroPoints);
  built.quantization = static_cast<uint32_t>(tables.quantizations.size());
  tables.quantizations.push_back(entry);
  return addEntry(built);
}

} // namespace tilewright
