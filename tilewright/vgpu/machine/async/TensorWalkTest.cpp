// Rows that do not form a tile: gather4 and the modes of im2col.
#include "tilewright/vgpu/machine/async/TensorBox.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::vgpu::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Images of 14 rows of 9 pixels with 64 channels of 2 bytes. The address is 128-byte aligned and
/// not 0, because 0 means a pixel outside.
TensorMap images(TensorMode mode, int lower, int upper, uint32_t pixels) {
  TensorMap map;
  map.address = 1 << 20;
  map.rank = 4;
  map.element = TensorElement::f16;
  map.swizzle = TensorSwizzle::bytes128;
  map.mode = mode;
  map.size = {64, 9, 14, 64, 1};
  map.stride = {2, 128, 128 * 9, 128 * 9 * 14, 0};
  map.box[0] = 64;
  map.pixels = pixels;
  map.lower = {lower, lower, 0};
  map.upper = {upper, upper, 0};
  return map;
}

/// "w h n" of each row of the box, and "-" for those outside the tensor.
std::vector<std::string> pixelsOf(const Box &box) {
  std::vector<std::string> pixels;
  for (uint32_t row = 0; row < box.rows(); ++row) {
    uint64_t at = box.rowAddress(row);
    if (at == 0) {
      pixels.push_back("-");
      continue;
    }
    at = (at - box.map.address) / 128;
    pixels.push_back(std::to_string(at % 9) + " " + std::to_string(at / 9 % 14) + " " +
                     std::to_string(at / 9 / 14));
  }
  return pixels;
}

Box boxAt(const TensorMap &map, int64_t w, int64_t h, int64_t n) {
  EXPECT_TRUE(map.check().isOk()) << map.check().toString();
  return Box{map, {0, w, h, n}};
}

/// The CuTe DSL makes maps of tiles itself and leaves the bytes behind the steps as they were.
TEST(TensorWalk, BytesThatAProgramLeavesAreNoIm2col) {
  TensorMap map;
  map.rank = 2;
  std::byte bytes[128];
  map.encode(bytes);
  std::fill(bytes + 65, bytes + 128, std::byte(0x57));
  EXPECT_EQ(TensorMap::decode(bytes).mode, TensorMode::tile);
  map.mode = TensorMode::im2colW;
  map.pixels = 700;
  map.lower = {-3, 2, 1};
  map.encode(bytes);
  EXPECT_EQ(TensorMap::decode(bytes).mode, TensorMode::im2colW);
  EXPECT_EQ(TensorMap::decode(bytes).pixels, 700u);
  EXPECT_EQ(TensorMap::decode(bytes).lower, map.lower);
}

TEST(TensorWalk, Im2colContinuesInTheNextRow) {
  const TensorMap map = images(TensorMode::im2col, -1, -1, 4);
  Box box = boxAt(map, 7, 7, 4);
  const uint16_t none[] = {0, 0};
  EXPECT_TRUE(box.walkPixels(none).isOk());
  EXPECT_THAT(pixelsOf(box), ElementsAre("7 7 4", "-", "0 8 4", "1 8 4"));
  EXPECT_EQ(box.dataBytes(), 4u * 128);
}

TEST(TensorWalk, Im2colContinuesInTheNextImageAndEndsWithTheLast) {
  TensorMap map = images(TensorMode::im2col, 0, -2, 5);
  map.step[1] = 3; // pixels 0, 3 and 6 of a row
  Box box = boxAt(map, 4, 11, 62);
  const uint16_t offsets[] = {2, 1};
  EXPECT_TRUE(box.walkPixels(offsets).isOk());
  EXPECT_THAT(pixelsOf(box), ElementsAre("6 12 62", "2 1 63", "5 1 63", "8 1 63", "2 2 63"));
  Box last = boxAt(map, 6, 11, 63);
  EXPECT_TRUE(last.walkPixels(offsets).isOk());
  EXPECT_THAT(pixelsOf(last), ElementsAre("8 12 63", "-", "-", "-", "-"));
}

TEST(TensorWalk, WideIm2colStaysInOneRowOfEachImage) {
  const TensorMap map = images(TensorMode::im2colW, 0, 0, 3);
  Box box = boxAt(map, 7, 2, 3);
  const uint16_t halo2[] = {2, 0};
  EXPECT_TRUE(box.walkPixels(halo2).isOk());
  EXPECT_THAT(pixelsOf(box), ElementsAre("7 2 3", "8 2 3", "0 2 4", "1 2 4", "2 2 4"));
  EXPECT_EQ(box.dataBytes(), 5u * 128);
  // The first pixel may be left of the box, and the offset moves the pixels and the box.
  Box left = boxAt(map, -2, 2, 3);
  const uint16_t offset1[] = {0, 1};
  EXPECT_TRUE(left.walkPixels(offset1).isOk());
  EXPECT_THAT(pixelsOf(left), ElementsAre("-", "0 2 3", "1 2 3"));
}

TEST(TensorWalk, OperandsOfIm2colAreChecked) {
  auto refusal = [](const TensorMap &map, int64_t w, int64_t h, std::vector<uint16_t> offsets) {
    return boxAt(map, w, h, 0).walkPixels(offsets).toString();
  };
  const TensorMap plain = images(TensorMode::im2col, -1, -1, 4);
  EXPECT_THAT(refusal(plain, 8, 0, {0, 0}), HasSubstr("from -1 to 7, got 8"));
  EXPECT_THAT(refusal(plain, 0, -2, {0, 0}), HasSubstr("from -1 to 12, got -2"));
  EXPECT_THAT(refusal(plain, 0, 0, {0, 256}), HasSubstr("below 256, got 256"));
  const TensorMap wide = images(TensorMode::im2colW, 0, 0, 4);
  EXPECT_THAT(refusal(wide, 9, 0, {0, 0}), HasSubstr("from 0 to 8, got 9"));
  EXPECT_THAT(refusal(wide, 0, 0, {512, 0}), HasSubstr("below 512, got 512"));
  EXPECT_THAT(refusal(wide, 0, 0, {0, 32}), HasSubstr("below 32, got 32"));
  const TensorMap fixed = images(TensorMode::im2colW128, 0, 0, 4);
  EXPECT_THAT(refusal(fixed, 0, 0, {1, 0}), HasSubstr("im2col::w::128 with a halo"));
  Box box = boxAt(fixed, 0, 0, 0);
  const uint16_t none[] = {0, 0};
  EXPECT_TRUE(box.walkPixels(none).isOk());
  EXPECT_EQ(box.rows(), 128u);
}

TEST(TensorWalk, MapsForIm2colAreChecked) {
  auto refusal = [](auto change) {
    TensorMap map = images(TensorMode::im2colW, 0, 0, 4);
    change(map);
    return map.check().toString();
  };
  EXPECT_THAT(refusal([](TensorMap &map) { map.swizzle = TensorSwizzle::none; }),
              HasSubstr("im2col::w requires a swizzle"));
  EXPECT_THAT(refusal([](TensorMap &map) { map.rank = 2; }), HasSubstr("3 to 5 dimensions, got 2"));
  EXPECT_THAT(refusal([](TensorMap &map) { map.pixels = 1025; }), HasSubstr("got 1025"));
  EXPECT_THAT(refusal([](TensorMap &map) { map.upper[0] = -9; }), HasSubstr("leave no pixel of 9"));
  EXPECT_THAT(refusal([](TensorMap &map) { map.lower[0] = 1 << 15; }), HasSubstr("got 32768"));
}

TEST(TensorWalk, FourRowsAreChosen) {
  TensorMap map;
  map.address = 1 << 20;
  map.rank = 2;
  map.size = {64, 10, 1, 1, 1};
  map.stride = {1, 64, 0, 0, 0};
  map.box = {32, 1, 1, 1, 1};
  Box box{map, {16}};
  const int32_t rows[] = {2, 10, -1, 2};
  EXPECT_TRUE(box.chooseRows(rows).isOk());
  EXPECT_EQ(box.chosen, (std::vector<uint64_t>{map.address + 128, 0, 0, map.address + 128}));
  EXPECT_EQ(box.dataBytes(), 4u * 32);
  map.box[1] = 2;
  EXPECT_THAT(Box{map}.chooseRows(rows).toString(), HasSubstr("whose box has one row, got 2"));
}

} // namespace
} // namespace tilewright::vgpu::machine
