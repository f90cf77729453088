// The kernels to mutate: how they are launched, and their expected results.
#ifndef TEST_VGPU_MUTATION_KERNELS_H
#define TEST_VGPU_MUTATION_KERNELS_H

#include "Recording.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::vgpu::mutation {

using Words = std::vector<uint32_t>;

enum class Arguments : uint8_t {
  words,    // in, out, scratch
  numbers,  // maps of 64 x 64 words for `in` and `out`, boxes of 32 x 32; then as above
  matrices, // maps of 64 x 384 and 8 x 384 halves, boxes of 64; then as above
};

struct Kernel {
  std::string file, name;
  uint32_t grid = 1, block = 1;
  bool isCooperative = false;
  Arguments arguments = Arguments::words;
  uint32_t dynamicSharedBytes = 0;
  /// The expected contents of `out`, computed from `in`; zeros after its end.
  std::function<Words(const Words &)> expected;
  /// If set, it provides all of the above except the name.
  std::shared_ptr<Recording> recording;
};

inline constexpr size_t wordCount = 16384; // of in, out and scratch each

const std::vector<Kernel> &kernels();
/// The input of a kernel.
Words inputOf(const Kernel &kernel);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_KERNELS_H
