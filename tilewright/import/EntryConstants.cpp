// Constants: converts the bytes of literals to attributes, and reads lists of numbers from them.
#include "tilewright/import/EntryBuilder.h"

#include "tilewright/support/Concat.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

using namespace tilewright;
using namespace tilewright::bytecode;

static_assert(std::endian::native == std::endian::little,
              "literals are little endian and are handed to MLIR as they are");

namespace {

/// The width of an element that does not fill its byte: i2, i4, f4 and f6. 8 for all others,
/// including i1, which is packed.
unsigned subByteWidth(mlir::Type element) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(element))
    return integer.getWidth() < 8 && integer.getWidth() > 1 ? integer.getWidth() : 8;
  if (auto real = llvm::dyn_cast<mlir::FloatType>(element))
    return std::min(real.getWidth(), 8u);
  return 8;
}

/// The i1 elements of a literal as MLIR stores them: eight per byte, padded with zeros.
std::vector<char> packed(const Literal &literal) {
  auto count = static_cast<size_t>(literal.elementCount);
  std::vector<char> bits((count + 7) / 8, 0);
  if (literal.form == LiteralForm::bits) {
    std::memcpy(bits.data(), literal.bytes.data(), bits.size());
    if (count % 8 != 0)
      bits.back() = static_cast<char>(bits.back() & ((1 << (count % 8)) - 1));
    return bits;
  }
  for (size_t i = 0; i < count; ++i)
    if (literal.bytes[i] != std::byte(0))
      bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
  return bits;
}

bool bitAt(const Literal &literal, size_t index) {
  switch (literal.form) {
  case LiteralForm::splat:
    return literal.bytes[0] != std::byte(0);
  case LiteralForm::elements:
    return literal.bytes[index] != std::byte(0);
  case LiteralForm::bits:
    return ((literal.bytes[index / 8] >> (index % 8)) & std::byte(1)) != std::byte(0);
  }
  return false;
}

int64_t numberAt(const Literal &literal, size_t index) {
  int64_t number;
  size_t place = literal.form == LiteralForm::splat ? 0 : index;
  std::memcpy(&number, literal.bytes.data() + place * sizeof(number), sizeof(number));
  return number;
}

llvm::ArrayRef<char> chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// The largest power of two that divides the address, up to a cache line.
size_t alignmentOf(const void *address) {
  return size_t(1) << std::countr_zero(reinterpret_cast<uintptr_t>(address) | 64);
}

/// A resource over bytes that `owner` keeps alive. The resource lives until the MLIR context is
/// destroyed.
mlir::Attribute resource(mlir::ShapedType type, llvm::ArrayRef<char> bytes,
                         std::shared_ptr<const void> owner) {
  // MLIR finds a free name by counting up, which is quadratic when many names share a prefix; our
  // names are unique.
  static std::atomic<uint64_t> next{0};
  mlir::AsmResourceBlob blob(
      bytes, alignmentOf(bytes.data()), [owner = std::move(owner)](void *, size_t, size_t) {},
      /*dataIsMutable=*/false);
  return mlir::DenseResourceElementsAttr::get(type, concat("constant_", next++), std::move(blob));
}

mlir::Attribute resource(mlir::ShapedType type, std::vector<char> bytes) {
  auto owned = std::make_shared<const std::vector<char>>(std::move(bytes));
  llvm::ArrayRef<char> view = *owned;
  return resource(type, view, std::move(owned));
}

} // namespace

Result<mlir::Attribute> EntryBuilder::constant(AttrId id) {
  if (mlir::Attribute built = builtConstants.lookup(id))
    return built;
  TILEWRIGHT_ASSIGN(mlir::Attribute built, buildTensor(id, maxInlineBytes));
  builtConstants[id] = built;
  return built;
}

Result<mlir::Attribute> EntryBuilder::buildTensor(AttrId id, size_t inlineBytes) {
  const Attr &attr = entry(id);
  const Literal &literal = module.literals[attr.b];
  TILEWRIGHT_ASSIGN(mlir::Type built, type(attr.a));
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(built);
  if (!type || !type.hasStaticShape())
    return invalidAttribute(id, "a constant must have a tensor type with a static shape");
  mlir::Type element = type.getElementType();
  mlir::Type component = element;
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(element))
    component = complex.getElementType();
  if (!component.isIntOrIndexOrFloat())
    return invalidAttribute(id, "a constant must have integer, float or complex elements");

  // MLIR stores i1 as bits, and an i1 splat as 0x00 or 0xff.
  if (element.isInteger(1)) {
    if (literal.form == LiteralForm::splat || literal.elementCount == 1) {
      char all = bitAt(literal, 0) ? '\xff' : '\0';
      return mlir::DenseElementsAttr::getFromRawBuffer(type, {all});
    }
    bool isClean = literal.form == LiteralForm::bits && literal.elementCount % 8 == 0;
    if (isClean && literal.bytes.size() > inlineBytes)
      return resource(type, chars(literal.bytes), file.owner());
    std::vector<char> bits = packed(literal);
    if (bits.size() > inlineBytes)
      return resource(type, std::move(bits));
    return mlir::DenseElementsAttr::getFromRawBuffer(type, bits);
  }

  // MLIR requires zeros in the unused high bits of a sub-byte element; producers need not write
  // them.
  std::span<const std::byte> bytes = literal.bytes;
  std::vector<char> masked;
  if (unsigned width = subByteWidth(element); width < 8) {
    std::byte mask{static_cast<uint8_t>((1u << width) - 1)};
    auto isClean = [&](std::byte each) { return (each & ~mask) == std::byte(0); };
    if (!std::ranges::all_of(bytes, isClean)) {
      for (std::byte each : bytes)
        masked.push_back(static_cast<char>(each & mask));
      bytes = std::as_bytes(std::span(masked));
    }
  }

  bool isSplat = false;
  if (!mlir::DenseElementsAttr::isValidRawBuffer(type, chars(bytes), isSplat))
    return invalidAttribute(
        id, concat("a constant has ", bytes.size(), " bytes, which does not match its type"));
  if (bytes.size() <= inlineBytes)
    return mlir::DenseElementsAttr::getFromRawBuffer(type, chars(bytes));
  if (!masked.empty())
    return resource(type, std::move(masked));
  return resource(type, chars(bytes), file.owner());
}

Result<mlir::Attribute> EntryBuilder::buildDenseArray(AttrId id) {
  const Attr &attr = entry(id);
  const Literal &literal = module.literals[attr.b];
  TILEWRIGHT_ASSIGN(mlir::Type element, type(attr.a));
  // MLIR reads the elements through a typed pointer, so copy them to memory that is aligned for any
  // element type.
  std::vector<uint64_t> aligned((literal.bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), literal.bytes.data(), literal.bytes.size());
  llvm::ArrayRef<char> data(reinterpret_cast<const char *>(aligned.data()), literal.bytes.size());
  return checked(mlir::DenseArrayAttr::getChecked([this] { return emitError(); }, element,
                                                  literal.elementCount, data),
                 id);
}

std::optional<int64_t> EntryBuilder::integer(AttrId id) const {
  const Attr &attr = entry(id);
  if (attr.kind != AttrKind::vhloInteger && attr.kind != AttrKind::integer)
    return std::nullopt;
  const Type &type = module.types[attr.a];
  unsigned width = type.kind == TypeKind::integer ? type.width : 64;
  if (width == 0 || width > 64)
    return std::nullopt;
  return llvm::SignExtend64(module.numbersIn(attr.list)[0], width);
}

std::optional<bool> EntryBuilder::boolean(AttrId id) const {
  const Attr &attr = entry(id);
  if (attr.kind != AttrKind::vhloBoolean)
    return std::nullopt;
  return attr.a != 0;
}

std::optional<std::string_view> EntryBuilder::text(AttrId id) const {
  const Attr &attr = entry(id);
  if (attr.kind != AttrKind::vhloString && attr.kind != AttrKind::string)
    return std::nullopt;
  return module.textOf(id);
}

const Literal *EntryBuilder::listOf(AttrId id, unsigned width) const {
  const Attr &attr = entry(id);
  if (attr.kind != AttrKind::vhloTensor)
    return nullptr;
  const Type &type = module.types[attr.a];
  const Type &element = module.types[type.inner];
  if (element.kind != TypeKind::integer || element.width != width ||
      element.signedness == Signedness::unsignedInteger)
    return nullptr;
  return &module.literals[attr.b];
}

std::optional<llvm::SmallVector<int64_t>> EntryBuilder::integers(AttrId id) const {
  const Literal *literal = listOf(id, 64);
  // A list of numbers is about as long as the rank of a tensor. A splat can claim any length, so
  // bound the claim before allocating.
  if (!literal || module.types[entry(id).a].dims.size != 1 ||
      (literal->form == LiteralForm::splat && literal->elementCount > int64_t(maxInlineBytes)))
    return std::nullopt;
  llvm::SmallVector<int64_t> numbers;
  for (int64_t i = 0; i < literal->elementCount; ++i)
    numbers.push_back(numberAt(*literal, i));
  return numbers;
}

std::optional<llvm::SmallVector<bool>> EntryBuilder::booleans(AttrId id) const {
  const Literal *literal = listOf(id, 1);
  if (!literal || module.types[entry(id).a].dims.size != 1 ||
      literal->elementCount > int64_t(maxInlineBytes))
    return std::nullopt;
  llvm::SmallVector<bool> flags;
  for (int64_t i = 0; i < literal->elementCount; ++i)
    flags.push_back(bitAt(*literal, i));
  return flags;
}

bool EntryBuilder::isFilledWith(AttrId id, int64_t value) const {
  const Literal *wide = listOf(id, 64);
  const Literal *narrow = listOf(id, 1);
  const Literal *literal = wide ? wide : narrow;
  // All elements of an empty tensor equal `value`, but it does not express a default: return false.
  if (!literal || literal->elementCount == 0)
    return false;
  int64_t distinct = literal->form == LiteralForm::splat ? 1 : literal->elementCount;
  for (int64_t i = 0; i < distinct; ++i)
    if ((wide ? numberAt(*literal, i) : int64_t(bitAt(*literal, i))) != value)
      return false;
  return true;
}
