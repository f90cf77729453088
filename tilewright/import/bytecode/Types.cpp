// Types: decodes them and checks their nested types.

#include "tilewright/import/bytecode/EntryCursor.h"

#include "tilewright/import/bytecode/TypeCodes.h"
#include "tilewright/numerics/Shape.h"

#include <algorithm>

namespace tilewright::bytecode {

using numerics::ElementType;

namespace {

/// MLIR's own limit on the width of an integer type.
constexpr uint64_t maxIntegerWidth = (1 << 24) - 1;

class TypeReader {
public:
  TypeReader(const Container &container, const ImportOptions &options, Module &module,
             References &references)
      : container(container), options(options), module(module), references(references) {}

  Status read() {
    module.types.resize(container.types.size());
    references.ends.reserve(container.types.size() + container.attrs.size());
    for (size_t id = 0; id < container.types.size(); ++id) {
      if (Status status = readOne(container.types[id], module.types[id]); !status.isOk())
        return std::move(status).during(concat("reading type ", id));
      references.ends.push_back(references.targets.size());
    }
    // Check types only after all have been read, because they may refer to later ones.
    for (size_t id = 0; id < module.types.size(); ++id)
      if (Status status = check(module.types[id]); !status.isOk())
        return std::move(status).during(concat("reading type ", id));
    return Status();
  }

private:
  Status readOne(const EncodedEntry &entry, Type &type);
  Status readText(const EncodedEntry &entry, Type &type);
  Status readFields(EntryCursor &cursor, Type &type);
  Status readInteger(EntryCursor &cursor, Type &type);
  Status readQuantized(EntryCursor &cursor, Type &type);
  Status checkDims(const Type &type);
  Status check(const Type &type);
  Status checkQuantized(const Quantization &quantization);

  const Container &container;
  const ImportOptions &options;
  Module &module;
  References &references;
};

Status TypeReader::readOne(const EncodedEntry &entry, Type &type) {
  type.dialect = entry.dialect;
  if (entry.textual)
    return readText(entry, type);
  EntryCursor cursor(container, entry, "the type", module, references);
  uint64_t code = 0;
  TILEWRIGHT_TRY(cursor.varint(code));
  const TypeCode *known = findTypeCode(entry.dialect, code);
  if (!known)
    return Status(Error::typeCode,
                  concat("dialect ", nameOf(entry.dialect), " has no supported type with code ",
                         code, "; serialize the program for StableHLO ", newestVersion.toString(),
                         " or older"));
  type.kind = known->kind;
  type.element = known->element;
  type.width = known->width;
  type.signedness = known->signedness;
  if (known->hasEncoding)
    TILEWRIGHT_TRY(cursor.attr(type.encoding));
  TILEWRIGHT_TRY(readFields(cursor, type));
  return cursor.finish();
}

/// Producers before LLVM 23 write the small builtin floats by name.
Status TypeReader::readText(const EncodedEntry &entry, Type &type) {
  std::string_view text(reinterpret_cast<const char *>(entry.data), entry.size);
  if (entry.dialect == Dialect::builtin && text.ends_with('\0') && text.size() < 32) {
    text.remove_suffix(1);
    std::optional<ElementType> element = numerics::elementTypeNamed(text);
    if (element && numerics::isReal(*element)) {
      type.kind = TypeKind::real;
      type.element = *element;
      return Status();
    }
  }
  return Status(Error::textualEntry,
                concat("at byte ", container.offsetOf(entry.data), ", a type of dialect ",
                       nameOf(entry.dialect),
                       " is written as text, which is supported only for builtin float types; "
                       "export the program with a newer producer"));
}

Status TypeReader::readFields(EntryCursor &cursor, Type &type) {
  switch (type.kind) {
  case TypeKind::integer:
    return type.width ? Status() : readInteger(cursor, type);
  case TypeKind::real:
  case TypeKind::index:
  case TypeKind::none:
  case TypeKind::token:
  case TypeKind::witness:
    return Status();
  case TypeKind::complex:
  case TypeKind::unrankedTensor:
    return cursor.type(type.inner);
  case TypeKind::tensor:
  case TypeKind::buffer:
    TILEWRIGHT_TRY(cursor.numberList(type.dims));
    TILEWRIGHT_TRY(cursor.type(type.inner));
    return checkDims(type);
  case TypeKind::tuple:
  case TypeKind::future:
    return cursor.typeList(type.types);
  case TypeKind::function:
    TILEWRIGHT_TRY(cursor.typeList(type.types));
    return cursor.typeList(type.results);
  case TypeKind::quantized:
  case TypeKind::quantizedPerAxis:
    return readQuantized(cursor, type);
  }
  return Status();
}

Status TypeReader::readInteger(EntryCursor &cursor, Type &type) {
  uint64_t packed = 0;
  TILEWRIGHT_TRY(cursor.varint(packed));
  uint64_t width = packed >> 2, sign = packed & 3;
  if (width == 0 || width > maxIntegerWidth || sign > 2)
    return Status(Error::integerWidth,
                  concat("an integer type must have a width of 1 to ", maxIntegerWidth,
                         " and signedness 0 to 2, got width ", width, " and signedness ", sign,
                         "; export the artifact again"));
  type.width = static_cast<uint32_t>(width);
  type.signedness = static_cast<Signedness>(sign);
  return Status();
}

Status TypeReader::readQuantized(EntryCursor &cursor, Type &type) {
  type.quantization = static_cast<uint32_t>(module.quantizations.size());
  Quantization &q = module.quantizations.emplace_back();
  TILEWRIGHT_TRY(cursor.varint(q.flags));
  TILEWRIGHT_TRY(cursor.type(q.storage));
  TILEWRIGHT_TRY(cursor.type(q.expressed));
  if (type.kind == TypeKind::quantized) {
    TILEWRIGHT_TRY(cursor.numbers(q.scales, 1));
    TILEWRIGHT_TRY(cursor.numbers(q.zeroPoints, 1));
    TILEWRIGHT_TRY(cursor.signedVarint(q.storageMin));
    return cursor.signedVarint(q.storageMax);
  }
  TILEWRIGHT_TRY(cursor.varint(q.axis));
  TILEWRIGHT_TRY(cursor.signedVarint(q.storageMin));
  TILEWRIGHT_TRY(cursor.signedVarint(q.storageMax));
  TILEWRIGHT_TRY(cursor.numberList(q.scales));
  return cursor.numberList(q.zeroPoints);
}

/// The product of static sizes must be within the options' limit. A dynamic size counts as one.
Status TypeReader::checkDims(const Type &type) {
  std::span<const int64_t> dims = module.numbersIn(type.dims);
  if (options.maxRank < 0 || dims.size() > static_cast<uint64_t>(options.maxRank))
    return Status(Error::limitRank,
                  concat("a tensor type has ", dims.size(), " dimensions, but the limit is ",
                         options.maxRank, "; raise import.max-rank"));
  std::vector<int64_t> sizes(dims.begin(), dims.end());
  std::replace(sizes.begin(), sizes.end(), dynamicSize, int64_t(1));
  Result<numerics::Shape> shape = numerics::Shape::create(sizes);
  if (!shape.isOk())
    return Status(Error::shapeInvalid, concat(std::move(shape).takeStatus().message(),
                                              "; change the shape in the program"));
  if (shape->elementCount() > options.maxElements)
    return Status(Error::limitElements,
                  concat("a tensor type of shape ", shape->toString(), " has ",
                         shape->elementCount(), " elements, but the limit is ", options.maxElements,
                         "; raise import.max-elements"));
  return Status();
}

bool canBeElement(TypeKind kind) {
  switch (kind) {
  case TypeKind::integer:
  case TypeKind::real:
  case TypeKind::index:
  case TypeKind::complex:
  case TypeKind::quantized:
  case TypeKind::quantizedPerAxis:
    return true;
  default:
    return false;
  }
}

Status TypeReader::check(const Type &type) {
  switch (type.kind) {
  case TypeKind::complex: {
    const Type &inner = module.types[type.inner];
    if (inner.kind == TypeKind::real &&
        (inner.element == ElementType::f32 || inner.element == ElementType::f64))
      return Status();
    return Status(Error::entryKind,
                  concat("a complex type must have element type f32 or f64, got type #", type.inner,
                         "; export the artifact again"));
  }
  case TypeKind::tensor:
  case TypeKind::unrankedTensor:
  case TypeKind::buffer:
    if (canBeElement(module.types[type.inner].kind))
      return Status();
    return Status(Error::entryKind, concat("a tensor type has element type #", type.inner,
                                           ", which is not an integer, float, complex, index or "
                                           "quantized type; export the artifact again"));
  case TypeKind::quantized:
  case TypeKind::quantizedPerAxis:
    return checkQuantized(module.quantizations[type.quantization]);
  default:
    return Status();
  }
}

Status TypeReader::checkQuantized(const Quantization &q) {
  const Type &storage = module.types[q.storage];
  if (storage.kind != TypeKind::integer || storage.width > 32 ||
      module.types[q.expressed].kind != TypeKind::real)
    return Status(Error::quantizedType,
                  concat("a quantized type must have an integer storage type of at most 32 bits "
                         "and a float expressed type, got types #",
                         q.storage, " and #", q.expressed, "; export the artifact again"));
  if (q.flags > 1 || q.storageMin >= q.storageMax || q.axis > INT32_MAX)
    return Status(Error::quantizedType,
                  concat("a quantized type must have flags 0 or 1, an ascending storage range and "
                         "an axis below 2^31, got flags ",
                         q.flags, ", storage range ", q.storageMin, " to ", q.storageMax,
                         " and axis ", q.axis, "; export the artifact again"));
  if (q.scales.size != q.zeroPoints.size)
    return Status(Error::quantizedType,
                  concat("a quantized type must have as many scales as zero points, got ",
                         q.scales.size, " scales and ", q.zeroPoints.size,
                         " zero points; export the artifact again"));
  return Status();
}

} // namespace

Status readTypes(const Container &container, const ImportOptions &options, Module &module,
                 References &references) {
  return TypeReader(container, options, module, references).read();
}

} // namespace tilewright::bytecode
