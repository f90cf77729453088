// The dotted words of PTX (.f32, .global, .rn, .m16n8k16) as numbers, so that the code that
// executes an instruction can switch on them and never handles text.
#ifndef TILEWRIGHT_VGPU_PTX_MODIFIER_H
#define TILEWRIGHT_VGPU_PTX_MODIFIER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::vgpu::ptx {

/// One dotted word. Values from `shapeBase` up are matrix shapes, packed by shapeModifier(); all
/// others are rows of Modifiers.def, types first.
enum class Modifier : uint16_t {
#define PTX_TYPE(name, spelling, bits, category) name,
#define PTX_MODIFIER(name, spelling, kind, ptx, sm) name,
#include "tilewright/vgpu/ptx/Modifiers.def"
  none = 0x7fff,
  shapeBase = 0x8000,
};

/// The kind of a modifier. An instruction has at most one modifier of a kind, except types and
/// layouts, whose order matters.
enum class ModifierKind : uint8_t {
  type,
  shape,
  space,
  order,
  scope,
  proxy,
  cache,
  level,
  eviction,
  cacheHint,
  prefetchSize,
  policy,
  vector,
  direction,
  part,
  carry,
  saturate,
  relu,
  ftz,
  rounding,
  precision,
  oob,
  nan,
  sign,
  shift,
  shiftSide,
  permute,
  test,
  compare,
  operation,
  popc,
  accumulate,
  sync,
  aligned,
  barrier,
  shuffle,
  vote,
  grid,
  mbarrier,
  completion,
  multicast,
  ctaGroup,
  waitKind,
  dimension,
  loadMode,
  mapField,
  count,
  transpose,
  layout,
  sparsity,
  matrix,
  tensorShape,
  packing,
  warpCast,
  format,
  sourceFormat,
  product,
  blockScale,
  scaleVector,
  ashift,
  collector,
};

/// The interpretation of a type's bits, to the extent that registers must match it.
enum class TypeCategory : uint8_t {
  untyped,
  unsignedInteger,
  signedInteger,
  packedInteger,
  floating,
  packedFloat,
  bitsOfFloat, // held in untyped registers of the same width
  predicate,
};

/// The m, n and k of a matrix instruction; k is 0 for .m8n8.
struct Shape {
  uint16_t m = 0, n = 0, k = 0;
  bool operator==(const Shape &) const = default;
};

inline constexpr unsigned typeCount = 0
#define PTX_TYPE(name, spelling, bits, category) +1
#include "tilewright/vgpu/ptx/Modifiers.def"
    ;

constexpr bool isType(Modifier modifier) { return static_cast<unsigned>(modifier) < typeCount; }
constexpr bool isShape(Modifier modifier) { return modifier >= Modifier::shapeBase; }

/// Packs a shape with m in {8, 16, 32, 64, 128}, n a multiple of 8 up to 256, and k a power of two
/// from 4 to 256, or 0. Returns `none` for other shapes.
constexpr Modifier shapeModifier(unsigned m, unsigned n, unsigned k) {
  unsigned mCode = m == 8 ? 0 : m == 16 ? 1 : m == 32 ? 2 : m == 64 ? 3 : m == 128 ? 4 : 7;
  unsigned kCode = k == 0     ? 0
                   : k == 4   ? 1
                   : k == 8   ? 2
                   : k == 16  ? 3
                   : k == 32  ? 4
                   : k == 64  ? 5
                   : k == 128 ? 6
                   : k == 256 ? 7
                              : 8;
  if (mCode == 7 || kCode == 8 || n == 0 || n % 8 != 0 || n > 256)
    return Modifier::none;
  return static_cast<Modifier>(0x8000u | mCode << 9 | (n / 8) << 3 | kCode);
}

/// The shape that shapeModifier() packed.
constexpr Shape shapeOf(Modifier modifier) {
  unsigned bits = static_cast<unsigned>(modifier) & 0x7fffu;
  unsigned kCode = bits & 7;
  return {static_cast<uint16_t>(8u << (bits >> 9)), static_cast<uint16_t>((bits >> 3 & 63) * 8),
          static_cast<uint16_t>(kCode == 0 ? 0 : 2u << kCode)};
}

ModifierKind kindOf(Modifier modifier);
/// The spelling without the dot: "shared::cta".
std::string spellingOf(Modifier modifier);
/// The lowest PTX version (78 is 7.8) and sm (90) that support the word; 0 means any.
unsigned versionOf(Modifier modifier);
unsigned architectureOf(Modifier modifier);
/// The modifier with this spelling, without the dot.
std::optional<Modifier> findModifier(std::string_view spelling);

/// Only for types.
unsigned bitsOf(Modifier type);
TypeCategory categoryOf(Modifier type);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_MODIFIER_H
