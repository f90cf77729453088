// Copies of tensors that need sm_100: elements of 4 and 6 bits, swizzles with larger atoms.
#include "tilewright/vgpu/machine/async/TensorMap.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <cstring>
#include <random>

namespace tilewright::vgpu::machine {
namespace {

using ::testing::HasSubstr;

const std::string head = ".version 8.7\n.target sm_100a\n.address_size 64\n";
constexpr uint32_t rows = 16; // of a box

/// Loads a box to shared memory that contains 0xee, waits for `bytes` bytes and writes 2048 bytes
/// of shared memory.
std::unique_ptr<LoadedModule> loadModule() {
  return loadText(head + R"(
.visible .entry k(.param .u64 map, .param .u64 out, .param .s32 x, .param .s32 y, .param .u32 bytes) {
  .reg .b64 %m, %o, %v;
  .reg .b32 %x, %y, %s, %bar, %n, %i;
  .reg .pred %p;
  .shared .align 1024 .b8 box[2048];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %m, [map];
  ld.param.u64 %o, [out];
  ld.param.s32 %x, [x];
  ld.param.s32 %y, [y];
  ld.param.u32 %n, [bytes];
  mov.u32 %bar, barrier;
  mov.u32 %s, box;
  mov.u32 %i, 256;
FILL:
  st.shared.b64 [%s], 0xeeeeeeeeeeeeeeee;
  add.u32 %s, %s, 8;
  sub.u32 %i, %i, 1;
  setp.ne.u32 %p, %i, 0;
  @%p bra FILL;
  fence.proxy.async.shared::cta;
  mov.u32 %s, box;
  mbarrier.init.shared.b64 [%bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], %n;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {%x, %y}], [%bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra WAIT;
  mov.u32 %i, 256;
COPY:
  ld.shared.b64 %v, [%s];
  st.global.b64 [%o], %v;
  add.u32 %s, %s, 8;
  add.u64 %o, %o, 8;
  sub.u32 %i, %i, 1;
  setp.ne.u32 %p, %i, 0;
  @%p bra COPY;
  ret;
})",
                  "sm_100a");
}

struct Case {
  TensorElement element;
  TensorSwizzle swizzle;
  uint32_t box;         // elements of a row
  uint32_t data, chunk; // bytes of data in each chunk of shared memory
};

/// A matrix of 20 rows of 256 elements, whose rows are 224 bytes apart.
struct Matrix {
  static constexpr uint32_t height = 20, stride = 224;
  alignas(64) std::array<uint8_t, height * stride> bytes{};
  alignas(64) std::array<std::byte, TensorMap::encodedBytes> encoded;

  explicit Matrix(const Case &one) {
    std::mt19937 random(7);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random());
    TensorMap map = mapOf(one);
    EXPECT_TRUE(map.check().isOk()) << map.check().toString();
    map.encode(encoded.data());
  }
  TensorMap mapOf(const Case &one) {
    TensorMap map;
    map.address = reinterpret_cast<uint64_t>(bytes.data());
    map.rank = 2;
    map.element = one.element;
    map.swizzle = one.swizzle;
    map.size = {256, height, 1, 1, 1};
    map.stride = {0, stride, 0, 0, 0};
    map.box = {one.box, rows, 1, 1, 1};
    return map;
  }
};

/// Where a swizzle places byte `at` of a line of 128 bytes.
uint32_t atom(TensorSwizzle swizzle, uint32_t line, uint32_t at) {
  switch (swizzle) {
  case TensorSwizzle::bytes128:
    return ((at / 16) ^ (line % 8)) * 16 + at % 16;
  case TensorSwizzle::atoms32:
    return ((at / 32) ^ (line % 4)) * 32 + at % 32;
  case TensorSwizzle::atoms64:
    return ((at / 64) ^ (line % 2)) * 64 + at % 64;
  default:
    return at;
  }
}

TEST(TensorBox, ElementsBelowAByteAreLoaded) {
  auto module = loadModule();
  const Case cases[] = {
      {TensorElement::u4, TensorSwizzle::none, 256, 16, 16},
      {TensorElement::u4, TensorSwizzle::bytes128, 256, 16, 16},
      {TensorElement::u4, TensorSwizzle::atoms32, 256, 16, 16},
      {TensorElement::u4, TensorSwizzle::atoms64, 256, 16, 16},
      {TensorElement::u4Padded, TensorSwizzle::none, 128, 8, 16},
      {TensorElement::u4Padded, TensorSwizzle::bytes128, 128, 8, 16},
      {TensorElement::u4Padded, TensorSwizzle::atoms32, 128, 8, 16},
      {TensorElement::u6Padded, TensorSwizzle::none, 128, 12, 16},
      {TensorElement::u6Padded, TensorSwizzle::bytes128, 128, 12, 16},
      {TensorElement::u6Padded, TensorSwizzle::atoms32, 128, 12, 16},
  };
  for (const Case &one : cases) {
    Matrix matrix(one);
    const uint32_t bits = one.element == TensorElement::u6Padded ? 6 : 4;
    const uint32_t rowBytes = one.box * bits / 8, tensorRow = 256 * bits / 8;
    for (const auto [x, y] : {std::pair(0, 0), {128, 2}, {-128, 0}, {256, 0}, {0, -3}, {128, 10}}) {
      std::vector<uint8_t> expected(2048, 0xee), out(2048);
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t b = 0; b < rowBytes; ++b) {
          const int64_t row = y + int64_t(r), column = x * int64_t(bits) / 8 + b;
          const bool isInside =
              row >= 0 && row < Matrix::height && column >= 0 && column < tensorRow;
          const uint32_t place = b / one.data * one.chunk + b % one.data;
          expected[r * 128 + atom(one.swizzle, r, place)] =
              isInside ? matrix.bytes[static_cast<size_t>(row * Matrix::stride + column)] : 0;
        }
      // The mbarrier counts data, not padding.
      const uint32_t bytes = rowBytes * rows;
      const std::byte *map = matrix.encoded.data();
      uint8_t *to = out.data();
      for (const LaunchConfig &order : ordersOf({})) {
        Status status = run(*module, "k", order, map, to, x, y, bytes);
        ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
        ASSERT_EQ(out, expected) << int(one.element) << ' ' << int(one.swizzle) << " at " << x
                                 << ", " << y << describeOrder(order);
      }
    }
  }
}

TEST(TensorBox, CoordinatesOfPaddedElementsAreWholeRows) {
  auto module = loadModule();
  for (const auto [element, x, box] : {std::tuple(TensorElement::u6Padded, 64, 128u),
                                       {TensorElement::u4Padded, 16, 128u},
                                       {TensorElement::u4, 3, 256u}}) {
    Matrix matrix({element, TensorSwizzle::none, box, 16, 16});
    const std::byte *map = matrix.encoded.data();
    std::vector<uint8_t> out(2048);
    uint8_t *to = out.data();
    const Status status = run(*module, "k", LaunchConfig{}, map, to, x, 0, 2048u);
    EXPECT_THAT(status.toString(), HasSubstr("the first coordinate must be a multiple of"));
  }
}

/// Stores read each element of 6 bits from its own byte and ignore its two highest bits.
TEST(TensorBox, StoresPackSixBits) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 map, .param .u64 in, .param .u32 reduces) {
  .reg .b64 %m, %p, %v;
  .reg .b32 %s, %i, %r;
  .reg .pred %q;
  .shared .align 1024 .b8 box[2048];
  ld.param.u64 %m, [map];
  ld.param.u64 %p, [in];
  ld.param.u32 %r, [reduces];
  mov.u32 %s, box;
  mov.u32 %i, 256;
FILL:
  ld.global.b64 %v, [%p];
  st.shared.b64 [%s], %v;
  add.u32 %s, %s, 8;
  add.u64 %p, %p, 8;
  sub.u32 %i, %i, 1;
  setp.ne.u32 %q, %i, 0;
  @%q bra FILL;
  fence.proxy.async.shared::cta;
  mov.u32 %s, box;
  setp.ne.u32 %q, %r, 0;
  @%q bra REDUCE;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%m, {128, 2}], [%s];
  bra DONE;
REDUCE:
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%m, {128, 2}], [%s];
DONE:
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
})",
                         "sm_100a");
  std::mt19937 random(3);
  std::vector<uint8_t> in(2048);
  for (uint8_t &byte : in)
    byte = static_cast<uint8_t>(random());
  const uint8_t *from = in.data();
  for (TensorSwizzle swizzle :
       {TensorSwizzle::none, TensorSwizzle::bytes128, TensorSwizzle::atoms64}) {
    Matrix matrix({TensorElement::u6Padded, swizzle, 128, 12, 16});
    const auto before = matrix.bytes;
    auto expected = before;
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t bit = 0; bit < 128 * 6; ++bit) {
        const uint32_t value = in[r * 128 + atom(swizzle, r, bit / 6)];
        uint8_t &byte = expected[(r + 2) * Matrix::stride + 96 + bit / 8];
        byte = static_cast<uint8_t>((byte & ~(1u << bit % 8)) | (value >> bit % 6 & 1) << bit % 8);
      }
    const std::byte *map = matrix.encoded.data();
    for (const LaunchConfig &order : ordersOf({})) {
      matrix.bytes = before;
      Status status = run(*module, "k", order, map, from, 0u);
      ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
      ASSERT_EQ(matrix.bytes, expected) << int(swizzle) << describeOrder(order);
    }
    EXPECT_THAT(run(*module, "k", LaunchConfig{}, map, from, 1u).toString(),
                HasSubstr("cannot be reduced"));
  }
  Matrix matrix({TensorElement::u4Padded, TensorSwizzle::none, 128, 8, 16});
  const std::byte *map = matrix.encoded.data();
  EXPECT_THAT(run(*module, "k", LaunchConfig{}, map, from, 0u).toString(),
              HasSubstr("can be loaded, but not stored"));
}

TEST(TensorBox, MapsOfElementsBelowAByteAreChecked) {
  const Case padded{TensorElement::u4Padded, TensorSwizzle::bytes128, 128, 8, 16};
  Matrix matrix(padded);
  auto expectRefused = [&](auto change, const char *why) {
    TensorMap map = matrix.mapOf(padded);
    change(map);
    EXPECT_THAT(map.check().toString(), HasSubstr(why));
  };
  expectRefused([](TensorMap &map) { map.box[0] = 64; }, "box size 0 must be 128");
  expectRefused([](TensorMap &map) { map.size[0] = 192; }, "multiple of 128, got 192");
  expectRefused([](TensorMap &map) { map.address += 16; }, "multiple of 32");
  expectRefused([](TensorMap &map) { map.stride[1] = 208; }, "multiple of 32");
  expectRefused([](TensorMap &map) { map.fillsNan = true; }, "no fill with NaN");
  expectRefused([](TensorMap &map) { map.swizzle = TensorSwizzle::bytes64; }, "one of 128 bytes");
  expectRefused([](TensorMap &map) { map.swizzle = TensorSwizzle::atoms64; }, "16 or 32 bytes");
  expectRefused([](TensorMap &map) { map.swizzle = TensorSwizzle::atoms32Flipped; }, "flip");
  expectRefused(
      [](TensorMap &map) {
        map.element = TensorElement::u4;
        map.box[0] = 48;
      },
      "multiple of 32 for such elements, got 48");
  expectRefused(
      [](TensorMap &map) {
        map.element = TensorElement::u4;
        map.size[0] = 255;
      },
      "multiple of 2, got 255");
}

} // namespace
} // namespace tilewright::vgpu::machine
