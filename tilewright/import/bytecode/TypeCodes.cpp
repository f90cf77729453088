#include "tilewright/import/bytecode/TypeCodes.h"

#include "tilewright/import/bytecode/CodeIndex.h"

#include <iterator>

namespace tilewright::bytecode {
namespace {

using numerics::ElementType;
using T = TypeKind;
constexpr Dialect vhlo = Dialect::vhlo, builtin = Dialect::builtin;

constexpr TypeCode plain(Dialect dialect, uint8_t code, TypeKind kind) {
  return {dialect, code, kind};
}
constexpr TypeCode real(Dialect dialect, uint8_t code, ElementType element) {
  return {dialect, code, T::real, element};
}
constexpr TypeCode integer(uint8_t code, uint8_t width, Signedness signedness) {
  return {vhlo, code, T::integer, ElementType::f32, width, signedness};
}
constexpr TypeCode encoded(Dialect dialect, uint8_t code) {
  return {dialect, code, T::tensor, ElementType::f32, 0, Signedness::signless, true};
}

constexpr TypeCode rows[] = {
    integer(0, 1, Signedness::signless),
    plain(vhlo, 1, T::complex),
    real(vhlo, 2, ElementType::bf16),
    real(vhlo, 3, ElementType::f16),
    real(vhlo, 4, ElementType::f32),
    real(vhlo, 5, ElementType::f64),
    real(vhlo, 6, ElementType::f8E4M3FN),
    real(vhlo, 7, ElementType::f8E5M2),
    plain(vhlo, 8, T::function),
    plain(vhlo, 9, T::index),
    integer(10, 4, Signedness::signless),
    integer(11, 8, Signedness::signless),
    integer(12, 16, Signedness::signless),
    integer(13, 32, Signedness::signless),
    integer(14, 64, Signedness::signless),
    integer(15, 4, Signedness::unsignedInteger),
    integer(16, 8, Signedness::unsignedInteger),
    integer(17, 16, Signedness::unsignedInteger),
    integer(18, 32, Signedness::unsignedInteger),
    integer(19, 64, Signedness::unsignedInteger),
    plain(vhlo, 20, T::tensor),
    encoded(vhlo, 21),
    plain(vhlo, 22, T::token),
    plain(vhlo, 23, T::tuple),
    plain(vhlo, 24, T::quantized),
    plain(vhlo, 25, T::unrankedTensor),
    plain(vhlo, 26, T::witness),
    real(vhlo, 27, ElementType::f8E4M3FNUZ),
    real(vhlo, 28, ElementType::f8E5M2FNUZ),
    real(vhlo, 29, ElementType::f8E4M3B11FNUZ),
    plain(vhlo, 30, T::quantizedPerAxis),
    integer(31, 2, Signedness::signless),
    integer(32, 2, Signedness::unsignedInteger),
    plain(vhlo, 33, T::none),
    real(vhlo, 34, ElementType::tf32),
    real(vhlo, 35, ElementType::f8E4M3),
    real(vhlo, 36, ElementType::f8E3M4),
    real(vhlo, 37, ElementType::f4E2M1FN),
    real(vhlo, 38, ElementType::f6E2M3FN),
    real(vhlo, 39, ElementType::f6E3M2FN),
    real(vhlo, 40, ElementType::f8E8M0FNU),
    plain(vhlo, 41, T::buffer),
    plain(vhlo, 42, T::future),

    // Vectors, memrefs and floats above 64 bits have codes too; artifacts must not use them.
    plain(builtin, 0, T::integer),
    plain(builtin, 1, T::index),
    plain(builtin, 2, T::function),
    real(builtin, 3, ElementType::bf16),
    real(builtin, 4, ElementType::f16),
    real(builtin, 5, ElementType::f32),
    real(builtin, 6, ElementType::f64),
    plain(builtin, 9, T::complex),
    plain(builtin, 12, T::none),
    plain(builtin, 13, T::tensor),
    encoded(builtin, 14),
    plain(builtin, 15, T::tuple),
    plain(builtin, 18, T::unrankedTensor),
    // LLVM added these codes after version 22; earlier producers write these types as text.
    real(builtin, 21, ElementType::tf32),
    real(builtin, 22, ElementType::f8E5M2),
    real(builtin, 23, ElementType::f8E4M3),
    real(builtin, 24, ElementType::f8E4M3FN),
    real(builtin, 25, ElementType::f8E5M2FNUZ),
    real(builtin, 26, ElementType::f8E4M3FNUZ),
    real(builtin, 27, ElementType::f8E4M3B11FNUZ),
    real(builtin, 28, ElementType::f8E3M4),
    real(builtin, 29, ElementType::f4E2M1FN),
    real(builtin, 30, ElementType::f6E2M3FN),
    real(builtin, 31, ElementType::f6E3M2FN),
    real(builtin, 32, ElementType::f8E8M0FNU),
};

constexpr CodeIndex<64> index(rows);

} // namespace

const TypeCode *findTypeCode(Dialect dialect, uint64_t code) {
  std::optional<size_t> row = index.find(dialect, code);
  return row ? &rows[*row] : nullptr;
}

const TypeCode *findTypeCode(const Type &type) {
  for (const TypeCode &row : rows) {
    if (row.dialect != type.dialect || row.kind != type.kind)
      continue;
    if (type.kind == TypeKind::real && row.element != type.element)
      continue;
    if (type.kind == TypeKind::integer && row.width != 0 &&
        (row.width != type.width || row.signedness != type.signedness))
      continue;
    if (type.kind == TypeKind::tensor && row.hasEncoding != (type.encoding != absent))
      continue;
    return &row;
  }
  return nullptr;
}

uint64_t valueBits(const Type &type) {
  if (type.kind == TypeKind::integer)
    return type.width;
  if (type.kind == TypeKind::real)
    return type.element == ElementType::tf32 ? 19 : numerics::bitWidth(type.element);
  return 64; // index
}

} // namespace tilewright::bytecode
