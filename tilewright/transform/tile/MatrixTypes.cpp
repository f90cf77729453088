// Chooses the types in which matrix instructions compute a dot_general or a convolution.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/RepresentsAll.h"
#include "tilewright/transform/tile/Tiling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

Type sumTypeOf(Type left, Type right, Type result) {
  auto isOneOf = [&](auto is) { return is(left) || is(right) || is(result); };
  MLIRContext *context = result.getContext();
  const bool isDouble = isOneOf([](Type type) {
    auto complex = dyn_cast<ComplexType>(type);
    return (complex ? complex.getElementType() : type).isF64();
  });
  Type real = isDouble ? Type(Float64Type::get(context)) : Type(Float32Type::get(context));
  if (isa<ComplexType>(result))
    return ComplexType::get(real);
  return isa<FloatType>(result) ? real : result;
}

/// Whether `wide` represents every value of `narrow`.
static bool holds(Type wide, Type narrow) {
  if (wide == narrow)
    return true;
  if (auto from = dyn_cast<IntegerType>(narrow)) {
    // A signed type needs one more bit than the unsigned values that it holds.
    auto to = dyn_cast<IntegerType>(wide);
    return to && from.getWidth() + (from.isUnsigned() ? 1 : 0) <= to.getWidth();
  }
  auto to = dyn_cast<FloatType>(wide), from = dyn_cast<FloatType>(narrow);
  return to && from && representsAll(to, from);
}

static bool hasDefaultPrecision(Operation *product) {
  auto convolution = dyn_cast<stablehlo::ConvolutionOp>(product);
  ArrayAttr precision = convolution
                            ? convolution.getPrecisionConfigAttr()
                            : cast<stablehlo::DotGeneralOp>(product).getPrecisionConfigAttr();
  return !precision || llvm::all_of(precision, [](Attribute attribute) {
    return cast<stablehlo::PrecisionAttr>(attribute).getValue() == stablehlo::Precision::DEFAULT;
  });
}

/// Whether an instruction that multiplies `multiplied` has sums of the type that the product needs.
static bool hasSums(Type multiplied, Type sum, int64_t depth) {
  if (multiplied.isF64())
    return sum.isF64();
  if (isa<FloatType>(multiplied))
    return sum.isF32();
  // Instructions sum integers in 32 bits, modulo 2^32. The sum of products of bytes is exact up to
  // this depth.
  constexpr int64_t maxExactDepth = (int64_t(1) << 17) - 1;
  auto integer = dyn_cast<IntegerType>(sum);
  return integer && (integer.getWidth() <= 32 || depth <= maxExactDepth);
}

std::optional<MatrixTypes> Capacities::matrixFor(const Node &dot, const FusionGraph &graph) const {
  if (!matrix || !isMatmul(dot))
    return std::nullopt;
  Type left = graph.elementType(dot.operands[0].source);
  Type right = graph.elementType(dot.operands[1].source);
  int64_t depth = 1;
  for (int64_t size : llvm::drop_begin(dot.sizes, dot.rank))
    depth *= size;
  return matrixFor(left, right, sumTypeOf(left, right, dot.elementTypes[0]), depth,
                   hasDefaultPrecision(dot.op));
}

std::optional<MatrixTypes> Capacities::matrixFor(Type left, Type right, Type sum, int64_t depth,
                                                 bool mayRound) const {
  if (!matrix)
    return std::nullopt;
  auto isEight = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  // The two operands may have different 8-bit types.
  if (isEight(left) && isEight(right) && matrix.takes(left) && matrix.takes(right) &&
      hasSums(left, sum, depth))
    return MatrixTypes{left, right};

  MLIRContext *context = left.getContext();
  Type single = Float32Type::get(context);
  // In the order of their rates. Sums of f8 have fewer bits on some chips, so types narrower than
  // f8 are multiplied as f16.
  for (Type type : {Type(IntegerType::get(context, 8)), Type(Float16Type::get(context)),
                    Type(BFloat16Type::get(context)), Type(FloatTF32Type::get(context)), single,
                    Type(Float64Type::get(context))}) {
    if (!matrix.takes(type) || !hasSums(type, sum, depth))
      continue;
    const bool isTf32 = isa<FloatTF32Type>(type);
    auto fits = [&](Type element) {
      return holds(type, element) || (isTf32 && element.isF32() && mayRound);
    };
    if (fits(left) && fits(right))
      return isTf32 ? MatrixTypes{single, single, /*isTf32=*/true} : MatrixTypes{type, type};
  }
  return std::nullopt;
}

} // namespace tilewright::tile
