// PTX for tests, and a client on this build's virtual driver, which may be AMD's.
#ifndef TILEWRIGHT_RUNTIME_CUDA_TESTING_KERNELS_H
#define TILEWRIGHT_RUNTIME_CUDA_TESTING_KERNELS_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/cuda/CudaBackend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cuda {

/// The kernels of conformance/Kit.h, and some GPU-specific ones. Each thread processes one element.
///
///   sum(f32 x[n], f32 y[1])   y = the sum of x, by one block of n threads through shared memory;
///                             n is a power of two; needs 4n bytes of shared memory
///   trap(f32 x[n], f32 y[n])  fails
///   wide(f32 x[n], f32 y[n])  add_one, with 2048 bytes of shared memory of its own
inline constexpr std::string_view testPtx = R"(
.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];

.visible .entry add_one(.param .u64 x, .param .u64 y)
{
  .reg .b32 %i<4>; .reg .b64 %a<5>; .reg .f32 %v;
  mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ntid.x; mov.u32 %i2, %tid.x;
  mad.lo.u32 %i3, %i0, %i1, %i2;
  mul.wide.u32 %a0, %i3, 4;
  ld.param.u64 %a1, [x]; add.u64 %a2, %a1, %a0;
  ld.param.u64 %a3, [y]; add.u64 %a4, %a3, %a0;
  ld.global.f32 %v, [%a2];
  add.f32 %v, %v, 0f3F800000;
  st.global.f32 [%a4], %v;
  ret;
}
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 y)
{
  .reg .b32 %i<4>; .reg .b64 %a<7>; .reg .f32 %v, %w;
  mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ntid.x; mov.u32 %i2, %tid.x;
  mad.lo.u32 %i3, %i0, %i1, %i2;
  mul.wide.u32 %a0, %i3, 4;
  ld.param.u64 %a1, [a]; add.u64 %a2, %a1, %a0;
  ld.param.u64 %a3, [b]; add.u64 %a4, %a3, %a0;
  ld.param.u64 %a5, [y]; add.u64 %a6, %a5, %a0;
  ld.global.f32 %v, [%a2];
  ld.global.f32 %w, [%a4];
  add.f32 %v, %v, %w;
  st.global.f32 [%a6], %v;
  ret;
}
.visible .entry slow(.param .u64 x, .param .u64 y)
{
  .reg .pred %p; .reg .b32 %i<5>; .reg .b64 %a<5>; .reg .f32 %v;
  mov.u32 %i4, 0;
again:
  add.u32 %i4, %i4, 1;
  setp.lt.u32 %p, %i4, 100000;
  @%p bra again;
  mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ntid.x; mov.u32 %i2, %tid.x;
  mad.lo.u32 %i3, %i0, %i1, %i2;
  mul.wide.u32 %a0, %i3, 4;
  ld.param.u64 %a1, [x]; add.u64 %a2, %a1, %a0;
  ld.param.u64 %a3, [y]; add.u64 %a4, %a3, %a0;
  ld.global.f32 %v, [%a2];
  add.f32 %v, %v, 0f3F800000;
  st.global.f32 [%a4], %v;
  ret;
}
.visible .entry increment(.param .u64 x, .param .u64 y)
{
  .reg .b32 %v; .reg .b64 %a<2>;
  ld.param.u64 %a0, [x]; ld.param.u64 %a1, [y];
  ld.global.u32 %v, [%a0];
  add.u32 %v, %v, 1;
  st.global.u32 [%a1], %v;
  ret;
}
.visible .entry less(.param .u64 a, .param .u64 b, .param .u64 y)
{
  .reg .pred %p; .reg .b32 %v<3>; .reg .b64 %a<3>;
  ld.param.u64 %a0, [a]; ld.param.u64 %a1, [b]; ld.param.u64 %a2, [y];
  ld.global.s32 %v0, [%a0];
  ld.global.s32 %v1, [%a1];
  setp.lt.s32 %p, %v0, %v1;
  selp.b32 %v2, 1, 0, %p;
  st.global.u8 [%a2], %v2;
  ret;
}
.visible .entry sum(.param .u64 x, .param .u64 y)
{
  .reg .pred %p; .reg .b32 %i<5>; .reg .b64 %a<3>; .reg .f32 %v, %w;
  mov.u32 %i0, %tid.x; mov.u32 %i1, %ntid.x;
  mul.wide.u32 %a0, %i0, 4;
  ld.param.u64 %a1, [x]; add.u64 %a0, %a1, %a0;
  ld.global.f32 %v, [%a0];
  mov.u32 %i2, dynamic;
  mad.lo.u32 %i3, %i0, 4, %i2;
  st.shared.f32 [%i3], %v;
  bar.sync 0;
again:
  shr.u32 %i1, %i1, 1;
  setp.eq.u32 %p, %i1, 0;
  @%p bra last;
  setp.ge.u32 %p, %i0, %i1;
  @%p bra wait;
  mad.lo.u32 %i4, %i1, 4, %i3;
  ld.shared.f32 %v, [%i3];
  ld.shared.f32 %w, [%i4];
  add.f32 %v, %v, %w;
  st.shared.f32 [%i3], %v;
wait:
  bar.sync 0;
  bra again;
last:
  setp.ne.u32 %p, %i0, 0;
  @%p bra done;
  ld.shared.f32 %v, [%i2];
  ld.param.u64 %a2, [y];
  st.global.f32 [%a2], %v;
done:
  ret;
}
.visible .entry trap(.param .u64 x, .param .u64 y) { trap; }
.visible .entry wide(.param .u64 x, .param .u64 y)
{
  .reg .b32 %i; .reg .b64 %a<2>; .reg .f32 %v;
  .shared .align 4 .b8 fixed[2048];
  ld.param.u64 %a0, [x]; ld.param.u64 %a1, [y];
  ld.global.f32 %v, [%a0];
  mov.u32 %i, fixed;
  st.shared.f32 [%i], %v;
  ld.shared.f32 %v, [%i];
  add.f32 %v, %v, 0f3F800000;
  st.global.f32 [%a1], %v;
  ret;
}
)";

/// For Hopper: in `swap`, two blocks of a cluster write 32 numbers each into each other's shared
/// memory, y[32 r + t] = 100 (1 - r) + t; `box` copies a box of 8x4 numbers at (4, 2) to y through
/// a tensor map of x.
inline constexpr std::string_view hopperPtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry swap(.param .u64 y)
{
  .reg .b32 %t, %rank, %peer, %s, %r, %v; .reg .b64 %p, %o;
  .shared .align 4 .b32 words[32];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  xor.b32 %peer, %rank, 1;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mov.u32 %s, words;
  mad.lo.u32 %s, %t, 4, %s;
  mapa.shared::cluster.u32 %r, %s, %peer;
  mad.lo.u32 %v, %rank, 100, %t;
  st.shared::cluster.u32 [%r], %v;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  ld.shared.u32 %v, [%s];
  ld.param.u64 %p, [y];
  mad.lo.u32 %t, %rank, 32, %t;
  mul.wide.u32 %o, %t, 4;
  add.u64 %p, %p, %o;
  st.global.u32 [%p], %v;
  ret;
}
.visible .entry box(.param .u64 x, .param .u64 y, .param .align 64 .b8 map[128])
{
  .reg .b32 %t, %cx, %cy, %s, %bar, %v; .reg .b64 %m, %p, %o; .reg .pred %first, %done;
  .shared .align 128 .b8 tile[128];
  .shared .align 8 .b64 barrier;
  mov.u32 %t, %tid.x;
  mov.u32 %s, tile;
  mov.u32 %bar, barrier;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @!%first bra wait;
  mov.b64 %m, map;
  cvta.param.u64 %m, %m;
  mov.u32 %cx, 4;
  mov.u32 %cy, 2;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {%cx, %cy}], [%bar];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra wait;
  mad.lo.u32 %s, %t, 4, %s;
  ld.shared.u32 %v, [%s];
  ld.param.u64 %p, [y];
  mul.wide.u32 %o, %t, 4;
  add.u64 %p, %p, %o;
  st.global.u32 [%p], %v;
  ret;
}
)";

inline std::vector<std::byte> bytesOf(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline artifact::Kernel testKernel(const std::string &symbol, int64_t n) {
  artifact::GpuLaunch launch;
  uint32_t threads = 1;
  while (threads < 256 && n % (2 * threads) == 0)
    threads *= 2;
  if (symbol == "sum")
    threads = static_cast<uint32_t>(n);
  launch.block[0] = threads;
  launch.grid[0] = static_cast<uint32_t>(n) / threads;
  launch.sharedBytes = symbol == "sum" ? 4 * threads : 0;
  return {symbol, 1, 0, 0, std::move(launch)};
}

/// The chip with which CTest runs the tests; sm_90a if run by hand.
inline const std::string &testChip() {
  static const std::string ofProgram = [] {
    const char *chip = std::getenv("TILEWRIGHT_VGPU_CHIP");
    return std::string(chip ? chip : "sm_90a");
  }();
  return ofProgram;
}

/// Has little memory, so that tests can run out of it.
inline Result<std::unique_ptr<Client>>
testClient(const RuntimeOptions &options, std::vector<int> devices = {}, CudaParts parts = {}) {
  setenv("TILEWRIGHT_VGPU_MEMORY", "256M", 0);
  setenv("TILEWRIGHT_VGPU_THREADS", "2", 0);
  ClientOptions client;
  client.runtime = options;
  TILEWRIGHT_ASSIGN(DriverOptions driver, driverOptionsOf("vgpu:" + testChip()));
  driver.devices = std::move(devices);
  return createClient(client, driver, std::move(parts));
}

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_TESTING_KERNELS_H
