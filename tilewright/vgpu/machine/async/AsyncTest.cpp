// Matrices, asynchronous copies, mbarriers and clusters, in hand-written PTX.
#include "tilewright/numerics/Float.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <cmath>
#include <random>

namespace tilewright::vgpu::machine {
namespace {

using numerics::ElementType;
using ::testing::HasSubstr;

const std::string head = ".version 8.4\n.target sm_90a\n.address_size 64\n";

std::vector<uint16_t> randomHalves(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> result(count);
  for (uint16_t &value : result)
    value =
        static_cast<uint16_t>(numerics::encode(ElementType::f16, (int(random() % 65) - 32) / 16.0));
  return result;
}
double half(uint16_t bits) { return numerics::decode(ElementType::f16, bits); }

/// "{%name0, %name1, …}".
std::string registers(const std::string &name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + name + std::to_string(i);
  return text + "}";
}

/// ldmatrix, mma and the layout of C as in the figures of the programming guide:
/// D(16x8) = A(16x16) * B(16x8) + C, with B stored row by row, hence .trans.
TEST(Matrices, LdmatrixFeedsMma) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pd) {
  .reg .b32 %t, %o, %s, %sa, %sb, %g, %q;
  .reg .b32 %a<4>, %b<2>;
  .reg .f32 %d<4>;
  .reg .b64 %p, %w;
  .shared .align 16 .b8 tile_a[512];
  .shared .align 16 .b8 tile_b[256];
  mov.u32 %t, %tid.x;
  mov.u32 %sa, tile_a;
  mov.u32 %sb, tile_b;
  // 16 bytes of A and 8 of B for each lane, without waiting for anything else.
  ld.param.u64 %p, [pa];
  mul.wide.u32 %w, %t, 16;
  add.u64 %w, %w, %p;
  shl.b32 %o, %t, 4;
  add.u32 %s, %sa, %o;
  cp.async.cg.shared.global [%s], [%w], 16;
  ld.param.u64 %p, [pb];
  mul.wide.u32 %w, %t, 8;
  add.u64 %w, %w, %p;
  shl.b32 %o, %t, 3;
  add.u32 %s, %sb, %o;
  cp.async.ca.shared.global [%s], [%w], 8;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.warp.sync 0xffffffff;
  // Lane t names row t % 16 of the left or right half of A.
  and.b32 %o, %t, 15;
  shl.b32 %o, %o, 5;
  add.u32 %s, %sa, %o;
  shr.u32 %o, %t, 4;
  shl.b32 %o, %o, 4;
  add.u32 %s, %s, %o;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%s];
  and.b32 %o, %t, 15;
  shl.b32 %o, %o, 4;
  add.u32 %s, %sb, %o;
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%b0, %b1}, [%s];
  mov.f32 %d0, 0f3F800000;
  mov.f32 %d1, 0f3F800000;
  mov.f32 %d2, 0f3F800000;
  mov.f32 %d3, 0f3F800000;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3},
      {%b0, %b1}, {%d0, %d1, %d2, %d3};
  shr.u32 %g, %t, 2;
  and.b32 %q, %t, 3;
  ld.param.u64 %p, [pd];
  mul.wide.u32 %w, %g, 32;
  add.u64 %p, %p, %w;
  mul.wide.u32 %w, %q, 8;
  add.u64 %p, %p, %w;
  st.global.v2.f32 [%p], {%d0, %d1};
  st.global.v2.f32 [%p+256], {%d2, %d3};
  ret;
})");
  const std::vector<uint16_t> a = randomHalves(16 * 16, 1), b = randomHalves(16 * 8, 2);
  std::vector<float> d(16 * 8);
  const uint16_t *pa = a.data(), *pb = b.data();
  float *pd = d.data();
  for (Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::hopper, Arithmetic::fast}) {
    Status status = run(*module, "k", {.block = {32, 1, 1}, .arithmetic = arithmetic}, pa, pb, pd);
    ASSERT_TRUE(status.isOk()) << status.toString();
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        double sum = 1;
        for (int k = 0; k < 16; ++k)
          sum += half(a[row * 16 + k]) * half(b[k * 8 + column]);
        // These sums need few bits, so all profiles are exact.
        ASSERT_EQ(d[row * 8 + column], float(sum)) << row << ' ' << column;
      }
  }
}

/// One warpgroup: TMA loads A (64x64) and B (64x64, its rows are columns of the product) with a
/// 128-byte swizzle, four wgmma, D to global memory.
TEST(Hopper, TensorMapsFeedWgmma) {
  std::string text = head + R"(
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128], .param .u64 pd) {
  .reg .b32 %t, %m, %bar, %sb, %zero, %w, %l, %row, %q;
  .reg .b64 %ma, %mb, %da, %db, %p, %o, %state, %e;
  .reg .pred %first, %done, %scale;
  .reg .f32 %f<32>;
  mov.u32 %t, %tid.x;
  mov.u32 %m, memory;
  add.u32 %sb, %m, 8192;
  add.u32 %bar, %m, 16384;
  mov.u32 %zero, 0;
  mov.b64 %ma, map_a;
  mov.b64 %mb, map_b;
  cvta.param.u64 %ma, %ma;
  cvta.param.u64 %mb, %mb;
  setp.eq.u32 %first, %t, 0;
  @!%first bra WAIT;
  mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 16384;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%m], [%ma, {%zero, %zero}], [%bar];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%sb], [%mb, {%zero, %zero}], [%bar];
WAIT:
  bar.sync 0;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra AGAIN;
  // 128-byte swizzle, 1024 bytes from eight rows to the next.
  shr.u32 %w, %m, 4;
  cvt.u64.u32 %da, %w;
  or.b64 %da, %da, 0x4000004000000000;
  shr.u32 %w, %sb, 4;
  cvt.u64.u32 %db, %w;
  or.b64 %db, %db, 0x4000004000000000;
  wgmma.fence.sync.aligned;
)";
  for (int step = 0; step < 4; ++step)
    text += "  setp.ne.u32 %scale, " + std::to_string(step) + ", 0;\n" +
            "  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " + registers("f", 32) +
            ", %da, %db, %scale, 1, 1, 0, 0;\n  add.u64 %da, %da, 2;\n  add.u64 %db, %db, 2;\n";
  text += R"(
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  shr.u32 %w, %t, 5;
  and.b32 %l, %t, 31;
  shr.u32 %row, %l, 2;
  mad.lo.u32 %row, %w, 16, %row;
  and.b32 %q, %l, 3;
  ld.param.u64 %p, [pd];
  mul.wide.u32 %o, %row, 256;
  add.u64 %p, %p, %o;
  mul.wide.u32 %o, %q, 8;
  add.u64 %p, %p, %o;
)";
  for (int v = 0; v < 32; v += 2)
    text += "  st.global.v2.f32 [%p+" + std::to_string((v >> 2) * 32 + (v >> 1 & 1) * 2048) +
            "], {%f" + std::to_string(v) + ", %f" + std::to_string(v + 1) + "};\n";
  auto module = loadText(text + "  ret;\n}\n");

  alignas(64) std::vector<uint16_t> a = randomHalves(64 * 64 + 8, 3),
                                    b = randomHalves(64 * 64 + 8, 4);
  std::vector<float> d(64 * 64);
  auto aligned = [](std::vector<uint16_t> &v) {
    return reinterpret_cast<uint16_t *>((reinterpret_cast<uint64_t>(v.data()) + 15) &
                                        ~uint64_t(15));
  };
  auto mapOf = [](const uint16_t *data) {
    TensorMap map;
    map.address = reinterpret_cast<uint64_t>(data);
    map.rank = 2;
    map.element = TensorElement::f16;
    map.swizzle = TensorSwizzle::bytes128;
    map.size = {64, 64, 1, 1, 1};
    map.stride = {2, 128, 0, 0, 0};
    map.box = {64, 64, 1, 1, 1};
    std::array<std::byte, 128> encoded;
    map.encode(encoded.data());
    return encoded;
  };
  const uint16_t *pa = aligned(a), *pb = aligned(b);
  const auto mapA = mapOf(pa), mapB = mapOf(pb);
  float *pd = d.data();
  for (LaunchConfig order : ordersOf({.block = {128, 1, 1}, .dynamicSharedBytes = 16384 + 64})) {
    std::fill(d.begin(), d.end(), 0.0f);
    order.arithmetic = order.seed % 2 ? Arithmetic::fast : Arithmetic::exact;
    Status status = run(*module, "k", order, mapA, mapB, pd);
    ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < 64; ++column) {
        double sum = 0;
        for (int k = 0; k < 64; ++k)
          sum += half(pa[row * 64 + k]) * half(pb[column * 64 + k]);
        ASSERT_EQ(d[row * 64 + column], float(sum)) << row << ' ' << column << describeOrder(order);
      }
  }
}

/// The PTX of nvcc for a product with two stages.
TEST(Hopper, MultipliesMatricesInStages) {
  auto module = loadText(kernelText("hopper.ptx"));
  constexpr int m = 128, n = 256, k = 192;
  std::vector<uint16_t> a = randomHalves(m * k + 64, 5), b = randomHalves(n * k + 64, 6);
  std::vector<float> c(m * n);
  auto aligned = [](std::vector<uint16_t> &v) {
    return reinterpret_cast<uint16_t *>((reinterpret_cast<uint64_t>(v.data()) + 63) &
                                        ~uint64_t(63));
  };
  auto mapOf = [](const uint16_t *data, uint64_t rows, uint32_t boxRows) {
    TensorMap map;
    map.address = reinterpret_cast<uint64_t>(data);
    map.rank = 2;
    map.element = TensorElement::f16;
    map.swizzle = TensorSwizzle::bytes128;
    map.size = {k, rows, 1, 1, 1};
    map.stride = {2, 2 * k, 0, 0, 0};
    map.box = {64, boxRows, 1, 1, 1};
    std::array<std::byte, 128> encoded;
    map.encode(encoded.data());
    return encoded;
  };
  const uint16_t *pa = aligned(a), *pb = aligned(b);
  const auto mapA = mapOf(pa, m, 64), mapB = mapOf(pb, n, 128);
  float *pc = c.data();
  ThreadPool pool(2);
  LaunchConfig config{.grid = {n / 128, m / 64, 1},
                      .block = {128, 1, 1},
                      .dynamicSharedBytes = 2 * (8192 + 16384),
                      .pool = &pool};
  std::vector<float> expected(m * n);
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int i = 0; i < k; ++i)
        sum += half(pa[row * k + i]) * half(pb[column * k + i]);
      expected[row * n + column] = float(sum);
    }
  // These sums need few bits, so a fast product is exact, too.
  for (Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fast})
    for (LaunchConfig order : ordersOf(config)) {
      order.arithmetic = arithmetic;
      std::fill(c.begin(), c.end(), 0.0f);
      Status status = run(*module, "gemm", order, mapA, mapB, pc, n, k);
      ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
      ASSERT_EQ(c, expected) << describeOrder(order);
    }
}

/// Loads fill the part of a box outside the tensor with zeros, and stores skip it.
TEST(Hopper, TensorBoxesAreCutAtTheEdges) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 from, .param .u64 to, .param .s32 x, .param .s32 y) {
  .reg .b64 %a, %b;
  .reg .b32 %x, %y, %s, %bar;
  .reg .pred %p;
  .shared .align 128 .b8 box[256];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %a, [from];
  ld.param.u64 %b, [to];
  ld.param.s32 %x, [x];
  ld.param.s32 %y, [y];
  mov.u32 %s, box;
  mov.u32 %bar, barrier;
  mbarrier.init.shared.b64 [%bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%a, {%x, %y}], [%bar];
L:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra L;
  fence.proxy.async.shared::cta;
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%b, {%x, %y}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
})");
  alignas(64) std::array<uint32_t, 6 * 12> from, to;
  for (uint32_t i = 0; i < from.size(); ++i)
    from[i] = i + 1;
  auto mapOf = [](const uint32_t *data) {
    TensorMap map;
    map.address = reinterpret_cast<uint64_t>(data);
    map.rank = 2;
    map.element = TensorElement::u32;
    map.size = {12, 6, 1, 1, 1};
    map.stride = {4, 48, 0, 0, 0};
    map.box = {8, 4, 1, 1, 1};
    return map;
  };
  alignas(64) std::array<std::byte, 128> mapFrom, mapTo;
  mapOf(from.data()).encode(mapFrom.data());
  mapOf(to.data()).encode(mapTo.data());
  const std::byte *pfrom = mapFrom.data(), *pto = mapTo.data();
  for (const LaunchConfig &order : ordersOf({})) {
    to.fill(1000);
    Status status = run(*module, "k", order, pfrom, pto, int32_t(-3), int32_t(4));
    ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 12; ++x) {
        const bool isInside = x < 5 && y >= 4;
        ASSERT_EQ(to[y * 12 + x], 1000 + (isInside ? from[y * 12 + x] : 0))
            << x << ' ' << y << describeOrder(order);
      }
  }
}

/// Runs `k` with a cluster of two blocks of 32 threads in every order. Its last argument is the
/// output, where each thread writes one word: block 0 must write those of `first`, block 1 those of
/// `second`.
template <typename... Values>
void expectOfCluster(LoadedModule &module, const std::vector<uint32_t> &first,
                     const std::vector<uint32_t> &second, const Values &...values) {
  std::vector<uint32_t> out(64);
  uint32_t *pout = out.data();
  for (const LaunchConfig &order : ordersOf({.grid = {2, 1, 1}, .block = {32, 1, 1}})) {
    std::fill(out.begin(), out.end(), 0);
    Status status = run(module, "k", order, values..., pout);
    ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(out[i], first[i]) << describeOrder(order);
      EXPECT_EQ(out[32 + i], second[i]) << describeOrder(order);
    }
  }
}

/// Two blocks write into each other's shared memory and arrive at each other's mbarrier.
TEST(Hopper, BlocksOfAClusterReachEachOther) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 out) .reqnctapercluster 2, 1, 1 {
  .reg .b32 %t, %rank, %peer, %s, %r, %bar, %rbar, %v;
  .reg .b64 %p, %o;
  .reg .pred %first, %done;
  .shared .align 4 .b32 words[32];
  .shared .align 8 .b64 barrier;
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  xor.b32 %peer, %rank, 1;
  mov.u32 %bar, barrier;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 32;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mov.u32 %s, words;
  mad.lo.u32 %s, %t, 4, %s;
  mapa.shared::cluster.u32 %r, %s, %peer;
  mapa.shared::cluster.u32 %rbar, %bar, %peer;
  mad.lo.u32 %v, %rank, 100, %t;
  st.shared::cluster.u32 [%r], %v;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rbar];
W:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%bar], 0;
  @!%done bra W;
  ld.shared.u32 %v, [%s];
  ld.param.u64 %p, [out];
  mad.lo.u32 %t, %rank, 32, %t;
  mul.wide.u32 %o, %t, 4;
  add.u64 %p, %p, %o;
  st.global.u32 [%p], %v;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
})");
  std::vector<uint32_t> first(32), second(32);
  for (uint32_t i = 0; i < 32; ++i) {
    first[i] = 100 + i;
    second[i] = i;
  }
  expectOfCluster(*module, first, second);
}

/// Block 0 multicasts a row to both blocks. Then each block sends words to the other and adds to
/// its counter, and the mbarriers count the bytes.
TEST(Hopper, CopiesToOtherBlocksSignalTheirBarriers) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 in, .param .u64 out) .reqnctapercluster 2, 1, 1 {
  .reg .b32 %t, %rank, %peer, %s, %r, %bar, %rbar, %v, %x, %row, %c;
  .reg .b64 %p, %q, %o;
  .reg .b16 %all;
  .reg .pred %first, %zero, %done;
  .shared .align 16 .b32 row[32];
  .shared .align 16 .b32 words[32];
  .shared .align 8 .b64 barriers[2];
  .shared .align 4 .b32 counter;
  ld.param.u64 %p, [in];
  ld.param.u64 %q, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  xor.b32 %peer, %rank, 1;
  mov.u32 %bar, barriers;
  mov.u32 %row, row;
  mov.u32 %c, counter;
  setp.eq.u32 %first, %t, 0;
  @%first st.shared.u32 [%c], 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 1;
  @%first mbarrier.init.shared::cta.b64 [%bar+8], 1;
  fence.mbarrier_init.release.cluster;
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar+8], 256;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  setp.eq.and.u32 %zero, %rank, 0, %first;
  mov.b16 %all, 3;
  @%zero cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%row], [%p], 128, [%bar], %all;
  mov.u32 %s, words;
  mad.lo.u32 %s, %t, 4, %s;
  mapa.shared::cluster.u32 %r, %s, %peer;
  add.u32 %x, %bar, 8;
  mapa.shared::cluster.u32 %rbar, %x, %peer;
  mad.lo.u32 %v, %rank, 100, %t;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r], %v, [%rbar];
  mapa.shared::cluster.u32 %r, %c, %peer;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r], %t, [%rbar];
W:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%bar], 0;
  @!%done bra W;
X:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%bar+8], 0;
  @!%done bra X;
  ld.shared.u32 %v, [%s];
  mad.lo.u32 %x, %t, 4, %row;
  ld.shared.u32 %x, [%x];
  add.u32 %v, %v, %x;
  ld.shared.u32 %x, [%c];
  add.u32 %v, %v, %x;
  mad.lo.u32 %t, %rank, 32, %t;
  mul.wide.u32 %o, %t, 4;
  add.u64 %q, %q, %o;
  st.global.u32 [%q], %v;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
})");
  alignas(16) std::array<uint32_t, 32> in;
  std::vector<uint32_t> first(32), second(32);
  for (uint32_t i = 0; i < 32; ++i) {
    in[i] = 1000 * i;
    first[i] = 100 + i + 1000 * i + 31 * 16;
    second[i] = i + 1000 * i + 31 * 16;
  }
  const uint32_t *pin = in.data();
  expectOfCluster(*module, first, second, pin);
}

TEST(Hopper, AnMbarrierThatNobodyCompletesIsADeadlock) {
  auto module = loadText(head + R"(
.visible .entry k() {
  .reg .b32 %bar;
  .reg .pred %p;
  .shared .align 8 .b64 barrier;
  mov.u32 %bar, barrier;
  mbarrier.init.shared.b64 [%bar], 2;
  mbarrier.arrive.shared.b64 _, [%bar];
W:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra W;
  ret;
})");
  Status status = run(*module, "k", {});
  EXPECT_EQ(status.error(), Error::vgpuDeadlock);
  EXPECT_THAT(status.message(), HasSubstr("phase parity 0 of the mbarrier"));
}

} // namespace
} // namespace tilewright::vgpu::machine
