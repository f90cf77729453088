#include "tilewright/plugin/Types.h"

#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <numeric>

namespace tilewright::plugin {
namespace {

using numerics::ElementType;

struct TypeRow {
  ElementType ours;
  PJRT_Buffer_Type theirs;
};

constexpr TypeRow typeRows[] = {
    {ElementType::pred, PJRT_Buffer_Type_PRED},
    {ElementType::i2, PJRT_Buffer_Type_S2},
    {ElementType::i4, PJRT_Buffer_Type_S4},
    {ElementType::i8, PJRT_Buffer_Type_S8},
    {ElementType::i16, PJRT_Buffer_Type_S16},
    {ElementType::i32, PJRT_Buffer_Type_S32},
    {ElementType::i64, PJRT_Buffer_Type_S64},
    {ElementType::ui2, PJRT_Buffer_Type_U2},
    {ElementType::ui4, PJRT_Buffer_Type_U4},
    {ElementType::ui8, PJRT_Buffer_Type_U8},
    {ElementType::ui16, PJRT_Buffer_Type_U16},
    {ElementType::ui32, PJRT_Buffer_Type_U32},
    {ElementType::ui64, PJRT_Buffer_Type_U64},
    {ElementType::f4E2M1FN, PJRT_Buffer_Type_F4E2M1FN},
    {ElementType::f6E2M3FN, PJRT_Buffer_Type_F6E2M3FN},
    {ElementType::f6E3M2FN, PJRT_Buffer_Type_F6E3M2FN},
    {ElementType::f8E3M4, PJRT_Buffer_Type_F8E3M4},
    {ElementType::f8E4M3, PJRT_Buffer_Type_F8E4M3},
    {ElementType::f8E4M3FN, PJRT_Buffer_Type_F8E4M3FN},
    {ElementType::f8E4M3FNUZ, PJRT_Buffer_Type_F8E4M3FNUZ},
    {ElementType::f8E4M3B11FNUZ, PJRT_Buffer_Type_F8E4M3B11FNUZ},
    {ElementType::f8E5M2, PJRT_Buffer_Type_F8E5M2},
    {ElementType::f8E5M2FNUZ, PJRT_Buffer_Type_F8E5M2FNUZ},
    {ElementType::f8E8M0FNU, PJRT_Buffer_Type_F8E8M0FNU},
    {ElementType::bf16, PJRT_Buffer_Type_BF16},
    {ElementType::f16, PJRT_Buffer_Type_F16},
    {ElementType::f32, PJRT_Buffer_Type_F32},
    {ElementType::f64, PJRT_Buffer_Type_F64},
    {ElementType::c64, PJRT_Buffer_Type_C64},
    {ElementType::c128, PJRT_Buffer_Type_C128},
};

Status badLayout(const artifact::TensorType &type, std::string_view why) {
  return Status(Error::pluginLayout, concat("unsupported layout for ", listed(type.dims), " x ",
                                            numerics::spelling(type.element), ": ", why,
                                            "; omit the layout, or make it row-major"));
}

} // namespace

PJRT_Buffer_Type toBufferType(ElementType type) {
  for (const TypeRow &row : typeRows)
    if (row.ours == type)
      return row.theirs;
  return PJRT_Buffer_Type_INVALID; // tf32, which is never the type of a parameter
}

Result<ElementType> toElementType(PJRT_Buffer_Type type) {
  for (const TypeRow &row : typeRows)
    if (row.theirs == type)
      return row.ours;
  return Status(Error::pluginType, concat("PJRT_Buffer_Type ", static_cast<int>(type),
                                          " is not supported as the type of a buffer"));
}

Result<artifact::TensorType> toTensorType(PJRT_Buffer_Type type, const int64_t *dims, size_t rank) {
  TILEWRIGHT_ASSIGN(ElementType element, toElementType(type));
  std::span<const int64_t> sizes(dims, dims ? rank : 0);
  TILEWRIGHT_TRY(numerics::Shape::create(sizes).takeStatus());
  return artifact::TensorType{element, {sizes.begin(), sizes.end()}};
}

std::vector<int64_t> rowMajor(size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

std::span<const int64_t> rowMajorFor(size_t rank) {
  static const std::vector<int64_t> longest = rowMajor(64);
  return std::span(longest).last(std::min<size_t>(rank, longest.size()));
}

Result<std::vector<int64_t>> minorToMajorOf(const PJRT_Buffer_MemoryLayout *layout,
                                            const artifact::TensorType &type) {
  size_t rank = type.dims.size();
  if (!layout)
    return rowMajor(rank);
  std::vector<int64_t> order;
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    if (layout->tiled.num_tiles > 0)
      return badLayout(type, "it has tiles");
    if (layout->tiled.minor_to_major_size > 0)
      order.assign(layout->tiled.minor_to_major,
                   layout->tiled.minor_to_major + layout->tiled.minor_to_major_size);
  } else {
    // Strides of a dense array define an order: a dimension with a smaller stride is more minor.
    if (layout->strides.num_byte_strides != rank)
      return badLayout(type, "the numbers of strides and dimensions differ");
    order = rowMajor(rank);
    // An array without elements may have any strides: NumPy and DLPack compute them differently.
    if (std::count(type.dims.begin(), type.dims.end(), 0) > 0)
      return order;
    const int64_t *strides = layout->strides.byte_strides;
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
    int64_t dense = static_cast<int64_t>(numerics::storageBytes(type.element));
    for (int64_t dim : order) {
      if (type.dims[static_cast<size_t>(dim)] > 1 && strides[dim] != dense)
        return badLayout(type, "its strides leave gaps");
      dense *= type.dims[static_cast<size_t>(dim)];
    }
  }
  std::vector<int64_t> sorted = order, all = rowMajor(rank);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (sorted != all)
    return badLayout(type, "its order is not a permutation of the dimensions");
  return order;
}

Status checkDeviceLayout(const PJRT_Buffer_MemoryLayout *layout, const artifact::TensorType &type) {
  TILEWRIGHT_ASSIGN(std::vector<int64_t> order, minorToMajorOf(layout, type));
  // The position of a dimension of size 1 does not matter, and none does without elements.
  if (std::count(type.dims.begin(), type.dims.end(), 0) > 0)
    return Status();
  std::vector<int64_t> large, expected;
  for (int64_t dim : order)
    if (type.dims[static_cast<size_t>(dim)] != 1)
      large.push_back(dim);
  for (int64_t dim : rowMajor(type.dims.size()))
    if (type.dims[static_cast<size_t>(dim)] != 1)
      expected.push_back(dim);
  return large == expected ? Status() : badLayout(type, "device buffers must be row-major");
}

} // namespace tilewright::plugin
