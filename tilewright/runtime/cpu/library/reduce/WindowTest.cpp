// Compares the taps of windows with a loop over their elements.
#include "tilewright/runtime/cpu/library/reduce/Window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilewright::runtime::cpu {
namespace {

/// The input elements under the window, in 128 bits.
std::vector<int64_t> elementsUnder(const WindowDim &dim, int64_t position) {
  std::vector<int64_t> elements;
  for (int64_t w = 0; w < dim.size; ++w) {
    const __int128 at = static_cast<__int128>(position) * dim.stride - dim.padLow +
                        static_cast<__int128>(w) * dim.windowDilation;
    if (at >= 0 && at % dim.baseDilation == 0 && at / dim.baseDilation < dim.input)
      elements.push_back(static_cast<int64_t>(at / dim.baseDilation));
  }
  return elements;
}

std::vector<int64_t> tapsOf(const WindowDim &dim, int64_t position) {
  const Taps taps = dim.tapsAt(position);
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < taps.count; ++i)
    elements.push_back(taps.first + i * taps.step);
  return elements;
}

void expectTaps(const WindowDim &dim, int64_t position) {
  EXPECT_EQ(tapsOf(dim, position), elementsUnder(dim, position))
      << "size " << dim.size << ", stride " << dim.stride << ", dilations " << dim.baseDilation
      << " and " << dim.windowDilation << ", padding " << dim.padLow << ", input " << dim.input
      << ", position " << position;
}

TEST(Window, TapsAreThoseOfALoop) {
  std::mt19937 random(1);
  auto below = [&](int64_t end) { return static_cast<int64_t>(random() % uint64_t(end)); };
  for (int i = 0; i < 20000; ++i) {
    const WindowDim dim{.size = below(9),
                        .stride = 1 + below(7),
                        .baseDilation = 1 + below(13),
                        .windowDilation = 1 + below(13),
                        .padLow = below(60) - 30,
                        .input = below(8)};
    for (int64_t position = 0; position < 12; ++position)
      expectTaps(dim, position);
  }
}

TEST(Window, WholePositionsHaveAllTaps) {
  std::mt19937 random(2);
  auto below = [&](int64_t end) { return static_cast<int64_t>(random() % uint64_t(end)); };
  int whole = 0;
  for (int i = 0; i < 20000; ++i) {
    const WindowDim dim{.size = below(4),
                        .stride = 1 + below(4),
                        .baseDilation = 1 + below(4) / 3,
                        .windowDilation = 1 + below(3),
                        .padLow = below(12) - 4,
                        .input = below(16),
                        .positions = 12};
    const auto [begin, end] = dim.wholePositions();
    for (int64_t position = 0; position < dim.positions; ++position) {
      const bool hasAll = dim.size > 0 && dim.baseDilation == 1 &&
                          elementsUnder(dim, position).size() == static_cast<size_t>(dim.size);
      EXPECT_EQ(position >= begin && position < end, hasAll)
          << "size " << dim.size << ", stride " << dim.stride << ", dilation " << dim.windowDilation
          << ", padding " << dim.padLow << ", input " << dim.input << ", position " << position;
      whole += hasAll;
    }
  }
  EXPECT_GT(whole, 10000);
}

/// The period of the elements of a window other than holes is up to 2^62.
TEST(Window, TapsOfHugeDilationsAreThoseOfALoop) {
  constexpr int64_t largest = int64_t(1) << 62;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    WindowDim dim{.size = 1 + int64_t(random() % 5), .input = 1 + int64_t(random() % 5)};
    auto dilation = [&](int64_t size) {
      const int64_t end = size > 1 ? (largest - 1) / (size - 1) : 1;
      // Near the end, near a power of two, or a multiple of one, so that common factors are likely.
      const int64_t value = random() % 2
                                ? end - int64_t(random() % 3)
                                : (int64_t(1) << random() % 62) * (1 + int64_t(random() % 3));
      return std::clamp<int64_t>(value, 1, end);
    };
    dim.baseDilation = dilation(dim.input);
    dim.windowDilation = dilation(dim.size);
    // Places an element of the window on or beside an element of the input.
    const int64_t element = int64_t(random() % uint64_t(dim.input)) * dim.baseDilation;
    const int64_t w = int64_t(random() % uint64_t(dim.size)) * dim.windowDilation;
    dim.padLow = std::clamp(w - element - int64_t(random() % 2), -largest, largest);
    expectTaps(dim, 0);
    if (dim.padLow >= 0) { // the same place by the stride
      dim.stride = std::max<int64_t>(1, largest / 4);
      expectTaps(dim, int64_t(random() % 4));
    }
  }
}

} // namespace
} // namespace tilewright::runtime::cpu
