// Copies of rows that do not form a tile: the checker knows which rows and pixels they access.
#include "tilewright/vgpu/check/testing/CheckKernel.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"

namespace tilewright::vgpu::check {
namespace {

using machine::TensorMap;

/// A tensor of ten rows or pixels of 64 bytes each, at 1 KB of a page whose first 128 bytes are its
/// map.
struct Memory {
  std::vector<uint32_t> words = std::vector<uint32_t>(2048);
  std::byte *page;

  explicit Memory(machine::TensorMode mode) {
    void *at = words.data();
    size_t space = words.size() * 4;
    page = static_cast<std::byte *>(std::align(64, 4096, at, space));
    TensorMap map;
    map.address = reinterpret_cast<uint64_t>(page) + 1024;
    map.element = machine::TensorElement::f32;
    map.mode = mode;
    const bool isMatrix = mode == machine::TensorMode::tile;
    map.rank = isMatrix ? 2 : 3;
    map.size = {16, isMatrix ? 10u : 5u, 2, 1, 1}; // two images of five pixels
    map.stride = {4, 64, 320, 0, 0};
    map.box = {16, 1, 1, 1, 1};
    map.pixels = 4;
    map.encode(page);
  }
};

/// Warp 0 performs `copy`, while warp 1 does `other` with %y1, the address of the tensor.
std::string kernelOf(const std::string &copy, const std::string &wait, const std::string &other) {
  std::string text = kernel(R"(
  add.u64 %y0, %out, 63;
  and.b64 %y0, %y0, -64;
  add.u64 %y1, %y0, 1024;
  mov.u32 %r1, bar;
  mov.u32 %r2, smem;
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %t, 32;
  @%p0 mbarrier.init.shared.b64 [%r1], 1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p0 bra OTHER;
  )" + copy + wait + R"(
  ld.shared.u32 %r3, [%r2];
OTHER:
  @%p1 )" + other + ";");
  return text.replace(text.find("sm_90a"), 6, "sm_100a").replace(text.find("8.4"), 3, "8.7");
}

const std::string waitForBar =
    "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra WAIT;";
const machine::LaunchConfig twoWarps{.block = {64, 1, 1}};

size_t findings(machine::TensorMode mode, const std::string &text) {
  Memory memory(mode);
  const Checked checked = check(text, twoWarps, "all,strict", &memory.words);
  EXPECT_TRUE(checked.status.isOk()) << checked.status.toString();
  return checked.findings.size();
}

TEST(TensorCopyRaces, GatheredRowsAreReadAndNoOthers) {
  const auto mode = machine::TensorMode::tile;
  const std::string gather =
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n"
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
      "[%r2], [%y0, {0, 2, 9, 2, 4}], [%r1];\n";
  auto withStoreTo = [&](int row) {
    return kernelOf(gather, waitForBar, "st.global.u32 [%y1+" + std::to_string(64 * row) + "], 7");
  };
  for (int row : {0, 1, 3, 5, 8})
    EXPECT_EQ(findings(mode, withStoreTo(row)), 0u) << row;
  for (int row : {2, 4, 9})
    EXPECT_NE(findings(mode, withStoreTo(row)), 0u) << row;
  EXPECT_NE(findings(mode, kernelOf(gather, "", "mov.u32 %r4, 0")), 0u); // not waited for
}

TEST(TensorCopyRaces, ScatteredRowsAreWrittenAndNoOthers) {
  const auto mode = machine::TensorMode::tile;
  const std::string scatter =
      "st.shared.u32 [%r2], 1;\nfence.proxy.async.shared::cta;\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
      "[%y0, {0, 8, 1, 3, 6}], [%r2];\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 0;\n";
  auto withLoadOf = [&](int row) {
    return kernelOf(scatter, "", "ld.global.u32 %r4, [%y1+" + std::to_string(64 * row) + "]");
  };
  // The rows after the first are stored from shared memory that was never written.
  const size_t unwritten = findings(mode, withLoadOf(0));
  for (int row : {2, 5, 9})
    EXPECT_EQ(findings(mode, withLoadOf(row)), unwritten) << row;
  for (int row : {8, 1, 3, 6})
    EXPECT_GT(findings(mode, withLoadOf(row)), unwritten) << row;
}

TEST(TensorCopyRaces, PixelsOfIm2colAreReadAndNoOthers) {
  const auto mode = machine::TensorMode::im2col;
  // Pixels 3 and 4 of the first image, 0 and 1 of the second.
  const std::string load =
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n"
      "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes "
      "[%r2], [%y0, {0, 3, 0}], [%r1], {0};\n";
  auto withStoreTo = [&](int pixel) {
    return kernelOf(load, waitForBar, "st.global.u32 [%y1+" + std::to_string(64 * pixel) + "], 7");
  };
  for (int pixel : {0, 2, 7, 9})
    EXPECT_EQ(findings(mode, withStoreTo(pixel)), 0u) << pixel;
  for (int pixel : {3, 4, 5, 6})
    EXPECT_NE(findings(mode, withStoreTo(pixel)), 0u) << pixel;
}

TEST(TensorCopyRaces, AMapOfAnotherModeIsRefusedByName) {
  const std::string load =
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n"
      "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
      "[%r2], [%y0, {0, 3, 0}], [%r1], {0, 0};\n";
  Memory memory(machine::TensorMode::im2col);
  const Checked checked =
      check(kernelOf(load, waitForBar, "mov.u32 %r4, 0"), twoWarps, "all,strict", &memory.words);
  EXPECT_THAT(
      checked.status.toString(),
      ::testing::HasSubstr("the tensor map is for im2col, but the instruction is for im2col::w"));
}

} // namespace
} // namespace tilewright::vgpu::check
