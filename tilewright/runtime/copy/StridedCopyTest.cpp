#include "tilewright/runtime/copy/StridedCopy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace tilewright::runtime {
namespace {

using ::testing::ElementsAre;

/// The reference: copies element by element.
void copySlowly(std::byte *to, std::span<const int64_t> toStrides, const std::byte *from,
                std::span<const int64_t> fromStrides, std::span<const int64_t> dims, size_t bytes) {
  if (dims.empty()) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (std::ranges::count(dims, 0) > 0)
    return; // no elements, and perhaps no memory
  for (int64_t i = 0; i < dims[0]; ++i)
    copySlowly(to + i * toStrides[0], toStrides.subspan(1), from + i * fromStrides[0],
               fromStrides.subspan(1), dims.subspan(1), bytes);
}

TEST(StridedCopy, DenseStridesFollowTheLayout) {
  EXPECT_THAT(denseStrides(std::vector<int64_t>{2, 3, 4}, 4), ElementsAre(48, 16, 4));
  std::vector<int64_t> columnMajor = {0, 1, 2};
  EXPECT_THAT(denseStrides(std::vector<int64_t>{2, 3, 4}, 4, columnMajor), ElementsAre(4, 8, 24));
}

TEST(StridedCopy, SizeOneMayHaveAnyStride) {
  std::vector<int64_t> dims = {2, 1, 3};
  EXPECT_TRUE(isDense(std::vector<int64_t>{12, -7, 4}, dims, 4));
  EXPECT_FALSE(isDense(std::vector<int64_t>{4, 0, 8}, dims, 4));
  EXPECT_TRUE(isDense(std::vector<int64_t>{1, 2}, std::vector<int64_t>{0, 5}, 4));
}

/// Random shapes, permutations, reversed and repeated dimensions and steps, as numpy creates them.
TEST(StridedCopy, AgreesWithTheSimpleCopy) {
  std::mt19937 random(7);
  ThreadPool pool(3);
  for (int round = 0; round < 400; ++round) {
    const size_t elementBytes = size_t(1) << (random() % 5);
    const bool isLarge = round % 40 == 0;
    const size_t rank = random() % 5;
    std::vector<int64_t> dims(rank);
    for (int64_t &dim : dims)
      dim = isLarge ? 20 + random() % 25 : random() % 7;
    std::vector<int64_t> order(rank);
    for (size_t i = 0; i < rank; ++i)
      order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), random);

    std::vector<int64_t> toStrides = denseStrides(dims, elementBytes);
    std::vector<int64_t> fromStrides = denseStrides(dims, elementBytes, order);
    int64_t first = 0, size = static_cast<int64_t>(elementBytes);
    for (size_t i = 0; i < rank; ++i) {
      size = std::max<int64_t>(size, 0) + std::max<int64_t>(dims[i] - 1, 0) * fromStrides[i] * 2;
      switch (random() % 4) {
      case 0:
        fromStrides[i] *= -1;
        first -= std::max<int64_t>(dims[i] - 1, 0) * fromStrides[i];
        break;
      case 1:
        fromStrides[i] = 0;
        break;
      case 2:
        fromStrides[i] *= 2;
        break;
      }
    }
    std::vector<std::byte> source(static_cast<size_t>(size));
    for (std::byte &b : source)
      b = static_cast<std::byte>(random());
    size_t count = elementBytes;
    for (int64_t dim : dims)
      count *= static_cast<size_t>(dim);
    std::vector<std::byte> expected(count), got(count);
    copySlowly(expected.data(), toStrides, source.data() + first, fromStrides, dims, elementBytes);
    copyStrided(got.data(), toStrides, source.data() + first, fromStrides, dims, elementBytes,
                &pool);
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

} // namespace
} // namespace tilewright::runtime
