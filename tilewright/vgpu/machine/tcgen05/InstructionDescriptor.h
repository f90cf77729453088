// The instruction descriptor of tcgen05.mma: shape, types and signs of a product.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_INSTRUCTIONDESCRIPTOR_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_INSTRUCTIONDESCRIPTOR_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::vgpu::machine {

/// .kind of tcgen05.mma.
enum class ProductKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
constexpr bool isScaled(ProductKind kind) { return kind >= ProductKind::mxf8f6f4; }

/// The types of elements of A, B and D.
enum class ProductType : uint8_t {
  f16,
  bf16,
  tf32,
  e4m3,
  e5m2,
  e2m3,
  e3m2,
  e2m1,
  u8,
  s8,
  f32,
  s32
};
/// As in PTX.
std::string_view nameOf(ProductType type);
/// The bits of the significand, with the leading one.
int significandBits(ProductType type);
/// The value of an element of at most 8 bits.
float valueOfElement(ProductType type, uint8_t bits);

/// Where a product takes its operands from and puts its result.
struct ProductMode {
  ProductKind kind = ProductKind::f16;
  bool isPair = false;       // cta_group::2
  bool isStationary = false; // .ws
};

/// A decoded descriptor.
struct InstructionDescriptor {
  ProductType a{}, b{}, d = ProductType::f32;
  unsigned m = 0, n = 0, k = 0;
  bool isSparse = false, saturates = false;
  bool negatesA = false, negatesB = false, transposesA = false, transposesB = false;
  // Of scaled products.
  bool hasE8Scales = false;            // ue8m0, otherwise ue4m3
  unsigned scaleIdA = 0, scaleIdB = 0; // the byte of the first scale

  /// Decodes the bits, or says in `problem` why they are invalid.
  static InstructionDescriptor decode(const ProductMode &mode, uint32_t bits, std::string &problem);
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_INSTRUCTIONDESCRIPTOR_H
