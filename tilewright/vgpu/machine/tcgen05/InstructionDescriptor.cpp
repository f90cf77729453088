#include "tilewright/vgpu/machine/tcgen05/InstructionDescriptor.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include <array>
#include <optional>

namespace tilewright::vgpu::machine {

using numerics::ElementType;

std::string_view nameOf(ProductType type) {
  constexpr std::string_view names[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3",
                                        "e3m2", "e2m1", "u8",   "s8",   "f32",  "s32"};
  return names[static_cast<size_t>(type)];
}

int significandBits(ProductType type) {
  switch (type) {
  case ProductType::f16:
  case ProductType::tf32:
    return 11;
  case ProductType::bf16:
  case ProductType::u8:
  case ProductType::s8:
    return 8;
  case ProductType::e4m3:
  case ProductType::e2m3:
    return 4;
  case ProductType::e5m2:
  case ProductType::e3m2:
    return 3;
  case ProductType::e2m1:
    return 2;
  default:
    return 24;
  }
}

float valueOfElement(ProductType type, uint8_t bits) {
  struct Table {
    std::array<float, 256> values;
    explicit Table(ElementType type, uint8_t mask) {
      for (unsigned i = 0; i < 256; ++i)
        values[i] = static_cast<float>(numerics::decode(type, i & mask));
    }
  };
  switch (type) {
  case ProductType::e4m3: {
    static const Table table(ElementType::f8E4M3FN, 0xff);
    return table.values[bits];
  }
  case ProductType::e5m2: {
    static const Table table(ElementType::f8E5M2, 0xff);
    return table.values[bits];
  }
  case ProductType::e2m3: {
    static const Table table(ElementType::f6E2M3FN, 63);
    return table.values[bits];
  }
  case ProductType::e3m2: {
    static const Table table(ElementType::f6E3M2FN, 63);
    return table.values[bits];
  }
  case ProductType::e2m1: {
    static const Table table(ElementType::f4E2M1FN, 15);
    return table.values[bits];
  }
  case ProductType::s8:
    return static_cast<int8_t>(bits);
  default:
    return bits;
  }
}

namespace {
struct Field {
  uint32_t bits;
  uint32_t operator()(unsigned first, unsigned count) const {
    return bits >> first & ((1u << count) - 1);
  }
};
} // namespace

static std::optional<ProductType> factorOf(ProductKind kind, uint32_t code) {
  static constexpr std::optional<ProductType> none;
  switch (kind) {
  case ProductKind::f16:
    return code == 0 ? ProductType::f16 : code == 1 ? std::optional(ProductType::bf16) : none;
  case ProductKind::tf32:
    return code == 2 ? std::optional(ProductType::tf32) : none;
  case ProductKind::i8:
    return code == 0 ? ProductType::u8 : code == 1 ? std::optional(ProductType::s8) : none;
  case ProductKind::f8f6f4:
  case ProductKind::mxf8f6f4: {
    static constexpr std::optional<ProductType> types[] = {
        ProductType::e4m3, ProductType::e5m2, none, ProductType::e2m3,
        ProductType::e3m2, ProductType::e2m1, none, none};
    return types[code];
  }
  case ProductKind::mxf4:
  case ProductKind::mxf4nvf4:
    return code == 1 ? std::optional(ProductType::e2m1) : none;
  }
  return none;
}

static unsigned depthOf(ProductKind kind) {
  switch (kind) {
  case ProductKind::tf32:
    return 8;
  case ProductKind::f16:
    return 16;
  case ProductKind::mxf4:
  case ProductKind::mxf4nvf4:
    return 64;
  default:
    return 32;
  }
}

/// Why the shape is invalid, or empty.
static std::string problemOfShape(const ProductMode &mode, const InstructionDescriptor &product) {
  const unsigned m = product.m, n = product.n;
  auto refuse = [&](std::string_view wanted) {
    return concat("a product of this kind needs ", wanted, ", got M = ", m, " and N = ", n);
  };
  if (mode.isStationary) {
    if ((m != 32 && m != 64 && m != 128) || (n != 64 && n != 128 && n != 256))
      return refuse("M of 32, 64 or 128 and N of 64, 128 or 256");
    return {};
  }
  if (n < 8 || n > 256)
    return refuse("N of 8 to 256");
  if (isScaled(mode.kind)) {
    if (mode.isPair ? m != 128 && m != 256 : m != 128)
      return refuse(mode.isPair ? "M of 128 or 256" : "M of 128");
    if (n % (mode.isPair ? 16 : 8) != 0)
      return refuse(mode.isPair ? "N in steps of 16" : "N in steps of 8");
    return {};
  }
  if (mode.isPair) {
    if (m != 128 && m != 256)
      return refuse("M of 128 or 256");
    if (n % (mode.kind == ProductKind::i8 ? 32 : 16) != 0)
      return refuse(mode.kind == ProductKind::i8 ? "N in steps of 32" : "N in steps of 16");
    return {};
  }
  if (m != 64 && m != 128)
    return refuse("M of 64 or 128");
  if (n % (mode.kind == ProductKind::i8 && n > 32 ? 16 : 8) != 0)
    return refuse("N in steps of 8, or for integers above 32 of 16");
  return {};
}

InstructionDescriptor InstructionDescriptor::decode(const ProductMode &mode, uint32_t bits,
                                                    std::string &problem) {
  const Field field{bits};
  InstructionDescriptor product;
  product.isSparse = field(2, 1);
  product.negatesA = field(13, 1), product.negatesB = field(14, 1);
  product.transposesA = field(15, 1), product.transposesB = field(16, 1);
  product.n = field(17, 6) * 8;
  product.m = field(24, 5) * 16;
  product.k = depthOf(mode.kind);
  if (isScaled(mode.kind)) {
    product.scaleIdB = field(4, 2);
    product.hasE8Scales = field(23, 1);
    product.m = field(27, 2) * 128;
    product.scaleIdA = field(29, 2);
    if (mode.kind != ProductKind::mxf8f6f4 && field(31, 1))
      product.k = 96;
  } else {
    product.saturates = field(3, 1);
    const uint32_t d = field(4, 2);
    product.d = d == 0 ? ProductType::f16 : d == 1 ? ProductType::f32 : ProductType::s32;
    if (d == 3 || (mode.kind == ProductKind::i8) != (d == 2) ||
        (mode.kind == ProductKind::tf32 && d == 0))
      problem = concat("the type of D in the instruction descriptor is ", d,
                       ", which products of this kind do not have");
  }
  const bool isNarrow = mode.kind == ProductKind::mxf4 || mode.kind == ProductKind::mxf4nvf4;
  const uint32_t aCode = field(7, 3), bCode = field(10, isNarrow ? 2 : 3);
  const std::optional<ProductType> a = factorOf(mode.kind, aCode), b = factorOf(mode.kind, bCode);
  if (!a || !b)
    problem = concat("the types of A and B in the instruction descriptor are ", aCode, " and ",
                     bCode, ", which products of this kind do not have");
  product.a = a.value_or(ProductType::f16);
  product.b = b.value_or(ProductType::f16);
  if (product.isSparse)
    problem = "sparse products of tcgen05 are not modelled";
  if (isNarrow && (product.transposesA || product.transposesB))
    problem = "matrices of 4 bits cannot be transposed";
  if (problem.empty())
    problem = problemOfShape(mode, product);
  return product;
}

} // namespace tilewright::vgpu::machine
