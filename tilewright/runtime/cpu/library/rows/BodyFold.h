// Combines elements with a compiled body.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_BODYFOLD_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_BODYFOLD_H

#include "tilewright/runtime/cpu/library/Library.h"

#include <cstring>
#include <vector>

namespace tilewright::runtime::cpu {

/// Combines sequences of elements with a body of 2N arguments and N results, in the same order as
/// the reference interpreter: runs of 32 from the left, a balanced tree above them, the init value
/// first. Not thread-safe; create it once and use it for many results.
class BodyFold {
public:
  BodyFold(Body body, std::span<const ElementType> types) : body(body), width(types.size()) {
    for (ElementType type : types) {
      bytes.push_back(numerics::storageBytes(type));
      columns.emplace_back((maxDepth + 2) * slot);
    }
    arguments.resize(2 * width);
    results.resize(width);
  }

  void start() { depth = inRun = runs = 0; }
  bool isEmpty() const { return depth == 0; }

  /// Adds the next element, element(i) of input i.
  template <typename Element> void add(Element &&element) {
    for (size_t i = 0; i < width; ++i)
      std::memcpy(at(i, depth), element(i), bytes[i]);
    ++depth;
    if (inRun++ > 0)
      combineTop();
    if (inRun < runLength)
      return;
    inRun = 0;
    for (uint64_t carry = ++runs; (carry & 1) == 0; carry >>= 1)
      combineTop();
  }

  /// Combines all elements so far into value(i). Requires at least one element.
  void finish() {
    while (depth > 1)
      combineTop();
  }
  const std::byte *value(size_t i) { return at(i, 0); }

  /// Combines init(i) and all elements so far into value(i).
  template <typename Init> void finishWith(Init &&init) {
    if (isEmpty()) {
      for (size_t i = 0; i < width; ++i)
        std::memcpy(at(i, 0), init(i), bytes[i]);
      return;
    }
    finish();
    for (size_t i = 0; i < width; ++i) {
      std::memcpy(at(i, 1), at(i, 0), bytes[i]);
      std::memcpy(at(i, 0), init(i), bytes[i]);
    }
    depth = 2;
    combineTop();
  }

private:
  static constexpr uint64_t runLength = 32;
  static constexpr size_t maxDepth = 65, slot = 16;

  std::byte *at(size_t input, size_t level) { return columns[input].data() + level * slot; }

  void combineTop() {
    // Write results outside the stack: a body may write a result before it has read all arguments.
    for (size_t i = 0; i < width; ++i) {
      arguments[i] = at(i, depth - 2);
      arguments[width + i] = at(i, depth - 1);
      results[i] = at(i, maxDepth + 1);
    }
    body(arguments.data(), results.data());
    --depth;
    for (size_t i = 0; i < width; ++i)
      std::memcpy(at(i, depth - 1), at(i, maxDepth + 1), bytes[i]);
  }

  Body body;
  size_t width;
  std::vector<size_t> bytes;
  std::vector<std::vector<std::byte>> columns;
  std::vector<const void *> arguments;
  std::vector<void *> results;
  size_t depth = 0;
  uint64_t inRun = 0, runs = 0;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_BODYFOLD_H
