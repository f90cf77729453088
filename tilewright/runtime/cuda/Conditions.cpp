#include "tilewright/runtime/cuda/Conditions.h"

namespace tilewright::runtime::cuda {

// Drivers define cudaGraphSetConditional, as they do printf. Each kernel has one thread, because
// concurrent calls for one handle are undefined.
static constexpr const char *source = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

.visible .entry tilewright_set_if(.param .u64 predicate, .param .u64 handle)
{
  .reg .b64 %p, %h; .reg .b32 %v; .reg .pred %is;
  .param .b64 h; .param .b32 v;
  ld.param.u64 %p, [predicate];
  ld.param.u64 %h, [handle];
  ld.global.u8 %v, [%p];
  setp.ne.u32 %is, %v, 0;
  selp.u32 %v, 1, 0, %is;
  st.param.b64 [h], %h;
  st.param.b32 [v], %v;
  call.uni cudaGraphSetConditional, (h, v);
  ret;
}
.visible .entry tilewright_start(.param .u64 counter, .param .u64 handle)
{
  .reg .b64 %c, %h;
  .param .b64 h; .param .b32 v;
  ld.param.u64 %c, [counter];
  ld.param.u64 %h, [handle];
  st.global.u64 [%c], 0;
  st.param.b64 [h], %h;
  st.param.b32 [v], 1;
  call.uni cudaGraphSetConditional, (h, v);
  ret;
}
.visible .entry tilewright_set_until(.param .u64 counter, .param .u64 rounds, .param .u64 handle)
{
  .reg .b64 %c, %h, %n, %rounds; .reg .b32 %v; .reg .pred %is;
  .param .b64 h; .param .b32 v;
  ld.param.u64 %c, [counter];
  ld.param.u64 %rounds, [rounds];
  ld.param.u64 %h, [handle];
  ld.global.u64 %n, [%c];
  add.u64 %n, %n, 1;
  st.global.u64 [%c], %n;
  setp.lt.u64 %is, %n, %rounds;
  selp.u32 %v, 1, 0, %is;
  st.param.b64 [h], %h;
  st.param.b32 [v], %v;
  call.uni cudaGraphSetConditional, (h, v);
  ret;
}
.visible .entry tilewright_set_branch(.param .u64 selector, .param .u64 isPredicate, .param .u64 index, .param .u64 count, .param .u64 handle)
{
  .reg .b64 %p, %h, %x; .reg .b32 %v, %i, %last; .reg .pred %is, %beyond;
  .param .b64 h; .param .b32 v;
  ld.param.u64 %p, [selector];
  ld.param.u64 %x, [isPredicate];
  setp.ne.u64 %is, %x, 0;
  @!%is bra number;
  ld.global.u8 %v, [%p];
  setp.eq.u32 %is, %v, 0;
  selp.u32 %v, 1, 0, %is;
  bra chosen;
number:
  ld.global.u32 %v, [%p];
  ld.param.u64 %x, [count];
  cvt.u32.u64 %last, %x;
  sub.u32 %last, %last, 1;
  setp.gt.u32 %beyond, %v, %last;
  selp.u32 %v, %last, %v, %beyond;
chosen:
  ld.param.u64 %x, [index];
  cvt.u32.u64 %i, %x;
  setp.eq.u32 %is, %v, %i;
  selp.u32 %v, 1, 0, %is;
  ld.param.u64 %h, [handle];
  st.param.b64 [h], %h;
  st.param.b32 [v], %v;
  call.uni cudaGraphSetConditional, (h, v);
  ret;
}
)";

Result<std::unique_ptr<Conditions>> Conditions::load(CudaDevice &device) {
  if (!device.api().cuGraphConditionalHandleCreate || !device.api().cuGraphAddNode)
    return std::unique_ptr<Conditions>();
  std::unique_ptr<Conditions> made(new Conditions(device));
  TILEWRIGHT_TRY(
      TILEWRIGHT_CUDA(device, cuModuleLoadDataEx, &made->module, static_cast<const void *>(source),
                      0u, static_cast<CUjit_option *>(nullptr), static_cast<void **>(nullptr)));
  struct {
    CUfunction &function;
    const char *name;
  } functions[] = {{made->ifFunction, "tilewright_set_if"},
                   {made->startFunction, "tilewright_start"},
                   {made->untilFunction, "tilewright_set_until"},
                   {made->branchFunction, "tilewright_set_branch"}};
  for (auto &[function, name] : functions)
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuModuleGetFunction, &function, made->module, name));
  return made;
}

Conditions::~Conditions() {
  if (!module)
    return;
  const ContextScope scope(device);
  device.api().cuModuleUnload(module);
}

static const artifact::GpuLaunch &oneThread() {
  static const artifact::GpuLaunch launch = {};
  return launch;
}

Command Conditions::setIf(const artifact::Slice &predicate) const {
  return Command(oneThread(), ifFunction, std::span(&predicate, 1), {0});
}
Command Conditions::start(CUdeviceptr counter) const {
  return Command(oneThread(), startFunction, {}, {counter, 0});
}
Command Conditions::setUntil(CUdeviceptr counter, uint64_t rounds) const {
  return Command(oneThread(), untilFunction, {}, {counter, rounds, 0});
}
Command Conditions::setBranch(const artifact::Slice &selector, bool isPredicate, uint64_t index,
                              uint64_t count) const {
  return Command(oneThread(), branchFunction, std::span(&selector, 1),
                 {isPredicate ? uint64_t(1) : 0, index, count, 0});
}

} // namespace tilewright::runtime::cuda
