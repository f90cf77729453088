#include "tilewright/artifact/ScaledProducts.h"

#include "tilewright/artifact/Statistics.h"
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::artifact {

static constexpr const char *productsName = "scaled-products";
static constexpr size_t productFields = 16;
/// More than any GPU can hold; keeps products of sizes within 63 bits.
static constexpr int64_t maxSize = int64_t(1) << 20;

int64_t ScaledProduct::operandBytes(int64_t lines, ElementType type) const {
  return numerics::arrayBytes(type, lines * depth);
}
int64_t ScaledProduct::resultBytes() const {
  return numerics::arrayBytes(resultType, rows * columns);
}

/// A line of 128 bytes of elements contains whole groups of 4 blocks.
int64_t ScaledProduct::paddedBlocks() const {
  const int64_t perLine = 1024 / static_cast<int64_t>(numerics::bitWidth(lhsType));
  return (depth + perLine - 1) / perLine * (perLine / block);
}
int64_t ScaledProduct::scaleBytes(int64_t lines) const {
  return (lines + 127) / 128 * 128 * paddedBlocks();
}

std::string ScaledProduct::text() const {
  return concat(numerics::spelling(lhsType), " x ", numerics::spelling(rhsType), " scaled by ",
                numerics::spelling(scaleType), " for ", block, ", ", batch, " x ", rows, " x ",
                columns, " x ", depth, " -> ", numerics::spelling(resultType),
                factor == none ? "" : ", with a factor");
}

void addScaledProducts(Executable &executable, const std::vector<ScaledProduct> &products) {
  std::vector<int64_t> values;
  auto signedIndex = [](Index index) { return index == none ? -1 : static_cast<int64_t>(index); };
  for (const ScaledProduct &product : products)
    values.insert(values.end(),
                  {product.kernel, product.lhs, product.rhs, product.lhsScale, product.rhsScale,
                   signedIndex(product.factor), product.result,
                   static_cast<int64_t>(product.lhsType), static_cast<int64_t>(product.rhsType),
                   static_cast<int64_t>(product.scaleType),
                   static_cast<int64_t>(product.resultType), product.block, product.batch,
                   product.rows, product.columns, product.depth});
  if (!values.empty())
    addStatistic(executable, productsName, values);
}

/// Whether the fields describe a valid product.
static bool isProduct(const ScaledProduct &product) {
  const bool isHalf = product.lhsType == ElementType::f4E2M1FN;
  auto isByte = [](ElementType type) {
    return type == ElementType::f8E4M3FN || type == ElementType::f8E5M2;
  };
  const bool isScaledBy32 = product.scaleType == ElementType::f8E8M0FNU && product.block == 32;
  const bool isScaledBy16 = product.scaleType == ElementType::f8E4M3FN && product.block == 16;
  const bool isKnown = isHalf ? product.rhsType == product.lhsType && (isScaledBy32 || isScaledBy16)
                              : isByte(product.lhsType) && isByte(product.rhsType) && isScaledBy32;
  auto isSize = [](int64_t size) { return size > 0 && size <= maxSize; };
  return isKnown && isSize(product.batch) && isSize(product.rows) && isSize(product.columns) &&
         isSize(product.depth) && (!isHalf || product.depth % 2 == 0) &&
         (product.resultType == ElementType::f32 || product.resultType == ElementType::bf16 ||
          product.resultType == ElementType::f16);
}

/// Whether the buffers of a launch have the sizes that the product requires.
static bool fits(const ScaledProduct &product, const LaunchStep &launch) {
  auto has = [&](Index buffer, int64_t bytes) {
    return buffer < launch.buffers.size() && launch.buffers[buffer].bytes == bytes;
  };
  return has(product.lhs, product.batch * product.lhsBytes()) &&
         has(product.rhs, product.batch * product.rhsBytes()) &&
         has(product.lhsScale, product.batch * product.lhsScaleBytes()) &&
         has(product.rhsScale, product.batch * product.rhsScaleBytes()) &&
         has(product.result, product.batch * product.resultBytes()) &&
         (product.factor == none || has(product.factor, 4));
}

std::vector<ScaledProduct> scaledProductsOf(const Executable &executable) {
  const std::vector<int64_t> values = statisticList(executable, productsName);
  if (values.size() % productFields != 0)
    return {};
  std::vector<ScaledProduct> products;
  for (const int64_t *next = values.data(); next != values.data() + values.size();
       next += productFields) {
    auto isIndex = [&](size_t field) { return next[field] >= 0 && next[field] < maxSize; };
    auto isType = [&](size_t field) {
      return next[field] >= 0 && next[field] < static_cast<int64_t>(numerics::elementTypeCount);
    };
    if (!isIndex(0) || !isIndex(1) || !isIndex(2) || !isIndex(3) || !isIndex(4) ||
        !(next[5] == -1 || isIndex(5)) || !isIndex(6) || !isType(7) || !isType(8) || !isType(9) ||
        !isType(10) || next[0] >= static_cast<int64_t>(executable.kernels.size()))
      return {};
    auto index = [&](size_t field) { return static_cast<Index>(next[field]); };
    auto type = [&](size_t field) { return static_cast<ElementType>(next[field]); };
    products.push_back({index(0), index(1), index(2), index(3), index(4),
                        next[5] < 0 ? none : index(5), index(6), type(7), type(8), type(9),
                        type(10), next[11], next[12], next[13], next[14], next[15]});
    if (!isProduct(products.back()))
      return {};
  }
  for (const Block &block : executable.blocks)
    for (const Step &step : block.steps)
      if (const auto *launch = std::get_if<LaunchStep>(&step.action))
        if (std::any_of(products.begin(), products.end(), [&](const ScaledProduct &product) {
              return product.kernel == launch->kernel && !fits(product, *launch);
            }))
          return {};
  return products;
}

} // namespace tilewright::artifact
