#include "tilewright/runtime/cpu/matmul/Placement.h"

#include <utility>

namespace tilewright::runtime::cpu {

std::vector<Part> joinedParts(std::span<const Part> dimensions) {
  std::vector<Part> parts;
  for (const Part &part : dimensions) {
    if (part.size == 1)
      continue;
    if (!parts.empty() && parts.back().stride == part.stride * part.size)
      parts.back() = {parts.back().size * part.size, part.stride};
    else
      parts.push_back(part);
  }
  return parts;
}

Placement placementOf(std::span<const Part> dimensions) {
  const std::vector<Part> parts = joinedParts(dimensions);
  Placement placement;
  if (parts.size() <= 1) {
    placement.stride = parts.empty() ? 1 : parts[0].stride;
    return placement;
  }
  placement.offsets = {0};
  for (const Part &part : parts) {
    std::vector<int64_t> longer;
    longer.reserve(placement.offsets.size() * static_cast<size_t>(part.size));
    for (int64_t outer : placement.offsets)
      for (int64_t i = 0; i < part.size; ++i)
        longer.push_back(outer + i * part.stride);
    placement.offsets = std::move(longer);
  }
  return placement;
}

} // namespace tilewright::runtime::cpu
