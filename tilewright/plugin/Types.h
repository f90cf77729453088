// Converts element types and layouts of the C API to ours and back.
#ifndef TILEWRIGHT_PLUGIN_TYPES_H
#define TILEWRIGHT_PLUGIN_TYPES_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::plugin {

PJRT_Buffer_Type toBufferType(numerics::ElementType type);

/// - pluginType (E8003): a type that no buffer has, such as a token.
Result<numerics::ElementType> toElementType(PJRT_Buffer_Type type);

/// - pluginType (E8003): as for toElementType, or a negative size.
Result<artifact::TensorType> toTensorType(PJRT_Buffer_Type type, const int64_t *dims, size_t rank);

/// The tensor type that the fields `shape_*` of a struct describe.
///  - pluginType (E8003): as for toTensorType.
template <typename Args> Result<artifact::TensorType> shapeOf(const Args &args) {
  return toTensorType(args.shape_element_type, args.shape_dims, args.shape_num_dims);
}

/// {rank - 1, …, 0}: the layout of all our buffers.
std::vector<int64_t> rowMajor(size_t rank);
/// Like rowMajor(), but with static lifetime, for callers that keep the pointer; ranks are at most
/// 64 (import.max-rank).
std::span<const int64_t> rowMajorFor(size_t rank);

/// The minor-to-major order that a layout requests.
///  - pluginLayout (E8004): the layout has tiles, or an order of the wrong rank.
Result<std::vector<int64_t>> minorToMajorOf(const PJRT_Buffer_MemoryLayout *layout,
                                            const artifact::TensorType &type);

/// Succeeds if the layout is row-major, as device buffers are, or null.
///  - pluginLayout (E8004)
Status checkDeviceLayout(const PJRT_Buffer_MemoryLayout *layout, const artifact::TensorType &type);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_TYPES_H
