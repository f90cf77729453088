// Checks the layouts of matrix instructions against the virtual GPU, which has its own tables:
// operands are put into registers according to their layouts, and the product must be where the
// accumulator's layout says.
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/include/tilewright_vgpu.h"

#include "gtest/gtest.h"

#include <cstring>
#include <functional>
#include <random>

using namespace tilewright;
using sm::Layout;

namespace {

/// Runs one instruction in one warp. `encode` returns the bits of an element, whose value is a
/// small integer.
void expectProduct(const std::string &instruction, int64_t bits, bool isInteger,
                   const std::function<uint64_t(int)> &encode) {
  SCOPED_TRACE(instruction);
  const Layout a = sm::instruction::mmaA(bits), b = sm::instruction::mmaB(bits),
               c = sm::instruction::mmaC(bits);
  const int64_t depth = a.cover(1);
  const auto aWords = static_cast<size_t>(a.extent(sm::Axis::reg) * bits / 32),
             bWords = static_cast<size_t>(b.extent(sm::Axis::reg) * bits / 32);
  std::mt19937_64 random(5);
  std::vector<int> left(a.cover(0) * depth), right(depth * b.cover(1));
  for (std::vector<int> *matrix : {&left, &right})
    for (int &element : *matrix)
      element = static_cast<int>(random() % 7) - 3;
  // Each lane's registers, one after another.
  auto fill = [&](const Layout &layout, const std::vector<int> &matrix, size_t words) {
    std::vector<uint32_t> registers(32 * words, 0);
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t v = 0; v < layout.extent(sm::Axis::reg); ++v) {
        auto index = *layout.indexOf(v, lane);
        const uint64_t element = encode(matrix[index[0] * layout.cover(1) + index[1]]);
        const int64_t bit = v * bits;
        registers[lane * static_cast<int64_t>(words) + bit / 32] |=
            static_cast<uint32_t>(element << bit % 32);
      }
    return registers;
  };
  std::vector<uint32_t> aRegisters = fill(a, left, aWords), bRegisters = fill(b, right, bWords),
                        result(32 * 4);
  auto list = [](const char *name, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += concat(i ? ", %" : "%", name, i);
    return concat("{", text, "}");
  };
  std::string loads;
  for (size_t i = 0; i < aWords; ++i)
    loads += concat("  ld.global.b32 %a", i, ", [%pa+", 4 * i, "];\n");
  for (size_t i = 0; i < bWords; ++i)
    loads += concat("  ld.global.b32 %b", i, ", [%pb+", 4 * i, "];\n");
  const std::string ptx = concat(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry product(.param .u64 left, .param .u64 right, .param .u64 out) {\n"
      "  .reg .b32 %a<8>, %b<8>, %t<4>;\n  .reg .b64 %pa, %pb, %pd, %o<4>;\n  .reg .",
      isInteger ? "b32" : "f32",
      " %d<4>, %z;\n  ld.param.u64 %pa, [left];\n  ld.param.u64 %pb, [right];\n"
      "  ld.param.u64 %pd, [out];\n  mov.u32 %t0, %tid.x;\n  mul.wide.u32 %o0, %t0, ",
      4 * aWords, ";\n  add.s64 %pa, %pa, %o0;\n  mul.wide.u32 %o1, %t0, ", 4 * bWords,
      ";\n  add.s64 %pb, %pb, %o1;\n  mul.wide.u32 %o2, %t0, 16;\n  add.s64 %pd, %pd, %o2;\n",
      loads, isInteger ? "  mov.b32 %z, 0;\n" : "  mov.f32 %z, 0f00000000;\n", "  ", instruction,
      " ", list("d", 4), ", ", list("a", aWords), ", ", list("b", bWords),
      ", {%z, %z, %z, %z};\n  st.global.v4.", isInteger ? "b32" : "f32", " [%pd], ", list("d", 4),
      ";\n  ret;\n}\n");
  char *error = nullptr;
  tilewright_vgpu_module *module = tilewright_vgpu_load(ptx.c_str(), "sm_80", &error);
  ASSERT_TRUE(module) << error << ptx;
  tilewright_vgpu_config config = {};
  config.grid[0] = config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
  config.block[0] = 32;
  const void *pointers[] = {aRegisters.data(), bRegisters.data(), result.data()};
  const void *arguments[] = {&pointers[0], &pointers[1], &pointers[2]};
  const int code = tilewright_vgpu_launch(module, "product", &config, arguments, 3, &error);
  tilewright_vgpu_unload(module);
  ASSERT_EQ(code, 0) << error;
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t v = 0; v < 4; ++v) {
      auto index = *c.indexOf(v, lane);
      int expected = 0;
      for (int64_t k = 0; k < depth; ++k)
        expected += left[index[0] * depth + k] * right[k * b.cover(1) + index[1]];
      float real;
      std::memcpy(&real, &result[lane * 4 + v], 4);
      const int got = isInteger ? static_cast<int>(result[lane * 4 + v]) : static_cast<int>(real);
      ASSERT_EQ(got, expected) << "lane " << lane << " register " << v;
    }
}

TEST(Fragments, TheVirtualGpuAgrees) {
  expectProduct("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, false, [](int value) {
    // Small integers in f16: sign, exponent with bias 15, mantissa of 10 bits.
    const int size = std::abs(value);
    const uint64_t sign = value < 0 ? 0x8000 : 0;
    return sign | (size == 0 ? 0 : size == 1 ? 0x3C00 : size == 2 ? 0x4000 : 0x4200);
  });
  expectProduct("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 32, false, [](int value) {
    const auto real = static_cast<float>(value);
    uint32_t word;
    std::memcpy(&word, &real, 4);
    return uint64_t(word);
  });
  expectProduct("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 8, true,
                [](int value) { return uint64_t(uint8_t(value)); });
}

} // namespace
