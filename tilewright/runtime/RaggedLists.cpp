#include "tilewright/runtime/RaggedLists.h"

#include <cstring>
#include <limits>

namespace tilewright::runtime {

template <typename T> static int64_t read(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  // A number of rows that no tensor can have is passed on unchanged.
  return std::in_range<int64_t>(value) ? static_cast<int64_t>(value)
                                       : std::numeric_limits<int64_t>::max();
}

std::vector<int64_t> raggedLists(std::span<const std::byte *const> lists,
                                 std::span<const artifact::TensorType> types) {
  std::vector<int64_t> all;
  for (size_t i = 0; i < lists.size(); ++i) {
    const numerics::ElementType element = types[i].element;
    const bool isSigned = numerics::isSigned(element);
    const size_t size = numerics::bitWidth(element) / 8;
    for (int64_t entry = 0; entry < types[i].dims[0]; ++entry) {
      const std::byte *from = lists[i] + static_cast<size_t>(entry) * size;
      all.push_back(size == 1   ? isSigned ? read<int8_t>(from) : read<uint8_t>(from)
                    : size == 2 ? isSigned ? read<int16_t>(from) : read<uint16_t>(from)
                    : size == 4 ? isSigned ? read<int32_t>(from) : read<uint32_t>(from)
                    : isSigned  ? read<int64_t>(from)
                                : read<uint64_t>(from));
    }
  }
  return all;
}

} // namespace tilewright::runtime
