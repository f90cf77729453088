#include "tilewright/vgpu/driver/observe/ObserveFunction.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/driver/observe/Order.h"
#include "tilewright/vgpu/driver/observe/Summary.h"

#include <map>

namespace tilewright::vgpu::driver {

/// Loads all bytes of a range and, if `writes` is not 0, stores them again: 16 bytes at a time
/// between the first and the last multiple of 16.
static std::string kernelNamed(std::string_view name) {
  return concat(R"(
.version 7.8
.target sm_80
.address_size 64
.visible .entry )",
                name, R"((.param .u64 begin, .param .u64 bytes, .param .u32 writes)
{
  .reg .pred %p<3>; .reg .b32 %r<7>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [begin];
  ld.param.u64 %rd2, [bytes];
  ld.param.u32 %r1, [writes];
  setp.ne.u32 %p1, %r1, 0;
  mov.u32 %r2, %tid.x;
  cvt.u64.u32 %rd3, %r2;
  add.u64 %rd4, %rd1, %rd2;
  add.u64 %rd5, %rd1, 15;
  and.b64 %rd5, %rd5, -16;
  min.u64 %rd5, %rd5, %rd4;
  and.b64 %rd6, %rd4, -16;
  max.u64 %rd6, %rd6, %rd5;
  add.u64 %rd7, %rd1, %rd3;
  setp.ge.u64 %p2, %rd7, %rd5;
  @%p2 bra middle;
  ld.global.u8 %r3, [%rd7];
  @%p1 st.global.u8 [%rd7], %r3;
middle:
  shl.b64 %rd8, %rd3, 4;
  add.u64 %rd7, %rd5, %rd8;
again:
  setp.ge.u64 %p2, %rd7, %rd6;
  @%p2 bra rest;
  ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd7];
  @%p1 st.global.v4.u32 [%rd7], {%r3, %r4, %r5, %r6};
  add.u64 %rd7, %rd7, 512;
  bra again;
rest:
  add.u64 %rd7, %rd6, %rd3;
  setp.ge.u64 %p2, %rd7, %rd4;
  @%p2 bra done;
  ld.global.u8 %r3, [%rd7];
  @%p1 st.global.u8 [%rd7], %r3;
done:
  ret;
}
)");
}

/// The module of a function on a chip; never unloaded, because findings name its kernel later.
static std::shared_ptr<machine::LoadedModule> moduleOf(std::string_view name,
                                                       std::string_view chip) {
  static std::mutex mutex;
  static auto &modules = // guarded by mutex
      *new std::map<std::string, std::shared_ptr<machine::LoadedModule>>();
  std::lock_guard lock(mutex);
  std::shared_ptr<machine::LoadedModule> &module = modules[concat(name, " ", chip)];
  if (!module) {
    auto made = machine::LoadedModule::create(kernelNamed(name), chip);
    if (made.isOk())
      module = *std::move(made);
  }
  return module;
}

void showAccesses(const Context &context, std::string_view name,
                  std::span<const tilewright_vgpu_range> ranges, bool areWritten) {
  for (const tilewright_vgpu_range &range : ranges) {
    if ((range.isWritten != 0) != areWritten || range.bytes == 0)
      continue;
    const std::shared_ptr<machine::LoadedModule> module =
        areRacesChecked() ? moduleOf(name, context.device.chip->name) : nullptr;
    if (!module)
      return;
    machine::LaunchConfig config;
    config.block = {32, 1, 1};
    config.accessor = {context.device.ordinal, 0};
    config.order = currentOrder(module);
    std::unique_ptr<Observation> observation = startChecking();
    if (!observation)
      return;
    config.observer = &observation->observer();
    const uint32_t writes = areWritten ? 1 : 0;
    const void *arguments[] = {&range.begin, &range.bytes, &writes};
    Status status = observation->finished(machine::launch(*module, name, config, arguments));
    if (!status.isOk())
      noteFailure(concat("cannot check the accesses of ", name, ": ", status.toString()));
    if (std::string found = observation->report(); !found.empty())
      noteReport("checks", found);
  }
}

} // namespace tilewright::vgpu::driver
