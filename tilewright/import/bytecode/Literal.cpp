// Literals: determines the encoding of a constant tensor's bytes.

#include "tilewright/import/bytecode/Entries.h"

#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Concat.h"

namespace tilewright::bytecode {

using numerics::ElementType;

/// i1 elements are packed eight to a byte. A splat is one byte, 0xFF for true so that it cannot be
/// mistaken for packed bits. For some months of 2026, StableHLO wrote one byte per element instead.
static std::optional<LiteralForm> formOfBooleans(uint64_t count, std::span<const std::byte> bytes) {
  if (bytes.size() == 1 && bytes[0] == std::byte(0xFF))
    return LiteralForm::splat;
  if (bytes.size() == count)
    return LiteralForm::elements;
  if (bytes.size() == (count + 7) / 8)
    return LiteralForm::bits;
  if (bytes.size() == 1)
    return LiteralForm::splat;
  return std::nullopt;
}

static std::optional<LiteralForm> formOf(uint64_t count, size_t elementBytes,
                                         std::span<const std::byte> bytes) {
  if (bytes.size() == count * elementBytes)
    return LiteralForm::elements;
  if (bytes.size() == elementBytes)
    return LiteralForm::splat;
  return std::nullopt;
}

Result<Literal> readLiteral(const Module &module, TypeId type, std::span<const std::byte> bytes) {
  const Type &tensor = module.types[type];
  std::optional<ElementType> element = elementTypeOf(module, tensor.inner);
  const bool isIndex = module.types[tensor.inner].kind == TypeKind::index;
  if (!element && !isIndex)
    return Status(Error::entryKind, concat("a constant has element type #", tensor.inner,
                                           ", which is not an integer, float or complex type of "
                                           "StableHLO; export the artifact again"));
  std::span<const int64_t> dims = module.numbersIn(tensor.dims);
  Result<numerics::Shape> shape = numerics::Shape::create(dims);
  if (!shape.isOk())
    return Status(Error::shapeInvalid,
                  concat("a constant must have a static shape: ",
                         std::move(shape).takeStatus().message(), "; export the artifact again"));
  const uint64_t count = static_cast<uint64_t>(shape->elementCount());
  std::optional<LiteralForm> form =
      element == ElementType::pred
          ? formOfBooleans(count, bytes)
          : formOf(count, isIndex ? 8 : numerics::storageBytes(*element), bytes);
  if (!form)
    return Status(Error::literalSize,
                  concat("a constant of shape ", shape->toString(), " and element type ",
                         isIndex ? std::string_view("index") : spelling(*element), " has ",
                         bytes.size(), " bytes, but must hold either all ", count,
                         " elements or one (a splat); export the artifact again"));
  return Literal{bytes, shape->elementCount(), *form};
}

} // namespace tilewright::bytecode
