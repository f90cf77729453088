#include "tilewright/runtime/cpu/matmul/Conversion.h"

#include "tilewright/numerics/Convert.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace tilewright::runtime::cpu {

using numerics::bitWidth;
using numerics::storageBytes;

/// Every value of a small type, converted once.
static const std::byte *tableOf(ElementType from, ElementType to) {
  static std::mutex mutex;
  static std::map<std::pair<ElementType, ElementType>, std::vector<std::byte>> tables;
  std::lock_guard lock(mutex);
  std::vector<std::byte> &table = tables[{from, to}];
  if (table.empty()) {
    std::array<std::byte, 256> values;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::byte>(i);
    table.resize(values.size() * storageBytes(to));
    numerics::convert(from, values.data(), to, table.data(), values.size());
  }
  return table.data();
}

Conversion::Conversion(const CpuFeatures &features, ElementType from, ElementType to)
    : source(from), target(to) {
  const bool areWholeIntegers = numerics::isInteger(from) && numerics::isInteger(to) &&
                                bitWidth(from) >= 8 && bitWidth(from) == bitWidth(to);
  isSameBits = areWholeIntegers;
  if (isIdentity())
    return;
  kernel = findConversion(features, from, to);
  if (!kernel && storageBytes(from) == 1)
    table = tableOf(from, to);
}

template <typename T>
static void lookUp(const std::byte *table, const std::byte *from, std::byte *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * static_cast<int64_t>(sizeof(T)),
                table + static_cast<size_t>(from[i]) * sizeof(T), sizeof(T));
}

void Conversion::run(const std::byte *from, std::byte *to, int64_t count) const {
  if (isIdentity()) {
    std::memcpy(to, from, static_cast<size_t>(count * static_cast<int64_t>(storageBytes(target))));
    return;
  }
  if (kernel)
    return kernel(from, to, count);
  if (table)
    switch (static_cast<int64_t>(storageBytes(target))) {
    case 1:
      return lookUp<uint8_t>(table, from, to, count);
    case 2:
      return lookUp<uint16_t>(table, from, to, count);
    case 4:
      return lookUp<uint32_t>(table, from, to, count);
    case 8:
      return lookUp<uint64_t>(table, from, to, count);
    default:
      break;
    }
  numerics::convert(source, from, target, to, static_cast<size_t>(count));
}

} // namespace tilewright::runtime::cpu
