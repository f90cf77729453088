#include "test/vgpu/forms/TensorKernel.h"

#include "tilewright/support/Concat.h"

#include <sstream>

namespace tilewright::vgpu::forms {

static std::string registerList(unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += concat(i ? ", " : "", "%v", i);
  return text + "}";
}

std::vector<TensorImage> runOnTensor(Session &session, const Form &form, const TensorSetup &setup) {
  const size_t blocks = setup.tensor.size(), bytes = setup.shared[0].size();
  const std::string group = concat("cta_group::", blocks);
  std::ostringstream text;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 ps) {\n"
       << ".reg .b32 %r<64>, %v<128>, %t, %s, %i, %w, %x<8>; .reg .b64 %d<64>, %in, %out, %a<8>;\n"
       << ".reg .b16 %h<8>; .reg .pred %p<16>, %q<8>;\n"
       << ".shared .align 1024 .b8 tiles[" << bytes
       << "]; .shared .align 8 .b64 bar; .shared .b32 where;\n"
       << "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %a1, [ps];\n"
          "mov.u32 %i, %tid.x; shr.u32 %w, %i, 5; mov.u32 %x7, %cluster_ctarank;\n"
       // The images of this block: of thread i, 512 words.
       << "mul.wide.u32 %a0, %x7, 262144; add.u64 %in, %in, %a0; add.u64 %out, %out, %a0;\n"
          "mul.wide.u32 %a0, %i, 2048; add.u64 %in, %in, %a0; add.u64 %out, %out, %a0;\n"
       << "mul.wide.u32 %a0, %x7, " << bytes << "; add.u64 %a1, %a1, %a0;\n"
       << "mov.u32 %s, tiles; mov.u32 %x0, %i;\n"
          "L0: setp.ge.u32 %q0, %x0, "
       << bytes / 4
       << "; @%q0 bra L1; mul.wide.u32 %a0, %x0, 4; add.u64 %a0, %a1, %a0; ld.global.b32 %x1, "
          "[%a0];\n"
          "mad.lo.u32 %x2, %x0, 4, %s; st.shared.b32 [%x2], %x1; add.u32 %x0, %x0, 128; bra L0;\n"
          "L1: setp.ne.u32 %q1, %i, 0; setp.ne.u32 %q2, %w, 0; @%q1 bra L2; mov.u32 %x3, bar;\n"
          "mbarrier.init.shared.b64 [%x3], 1; fence.mbarrier_init.release.cluster;\n"
          "L2: fence.proxy.async; @%q2 bra L3;\n"
       << "tcgen05.alloc." << group << ".sync.aligned.shared::cta.b32 [where], 512;\n"
       << "tcgen05.relinquish_alloc_permit." << group << ".sync.aligned;\n"
       << "L3: bar.sync 0; ld.shared.b32 %t, [where]; shl.b32 %x4, %w, 21; add.u32 %x4, %x4, %t;\n";
  for (unsigned part = 0; part < 4; ++part) {
    for (unsigned i = 0; i < 128; i += 4)
      text << "ld.global.v4.b32 {%v" << i << ", %v" << i + 1 << ", %v" << i + 2 << ", %v" << i + 3
           << "}, [%in+" << part * 512 + i * 4 << "];\n";
    text << "tcgen05.st.sync.aligned.32x32b.x128.b32 [%x4+" << 128 * part << "], "
         << registerList(128) << ";\n";
  }
  text << "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n"
          "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
          "tcgen05.fence::after_thread_sync;\n"
          "or.b32 %x5, %i, %x7; setp.ne.u32 %q3, %x5, 0; @%q3 bra L4;\n"
       << setup.instructions;
  if (blocks == 2)
    text << "mov.b16 %h0, 3; tcgen05.commit." << group
         << ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %h0;\n";
  else
    text << "tcgen05.commit." << group << ".mbarrier::arrive::one.shared::cluster.b64 [bar];\n";
  text << "L4: mbarrier.try_wait.parity.shared.b64 %q4, [bar], 0; @!%q4 bra L4;\n"
          "tcgen05.fence::after_thread_sync;\n";
  for (unsigned part = 0; part < 4; ++part) {
    text << "tcgen05.ld.sync.aligned.32x32b.x128.b32 " << registerList(128) << ", [%x4+"
         << 128 * part << "];\ntcgen05.wait::ld.sync.aligned;\n";
    for (unsigned i = 0; i < 128; i += 4)
      text << "st.global.v4.b32 [%out+" << part * 512 + i * 4 << "], {%v" << i << ", %v" << i + 1
           << ", %v" << i + 2 << ", %v" << i + 3 << "};\n";
  }
  text << "tcgen05.fence::before_thread_sync; bar.sync 0;\n"
          "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
          "@%q2 bra L5;\n"
       << "tcgen05.dealloc." << group << ".sync.aligned.b32 %t, 512;\nL5: ret;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text.str());
  if (!module)
    return {};
  std::vector<uint32_t> in, out(blocks * 128 * 512);
  std::vector<uint8_t> shared;
  for (size_t i = 0; i < blocks; ++i) {
    in.insert(in.end(), setup.tensor[i].words.begin(), setup.tensor[i].words.end());
    shared.insert(shared.end(), setup.shared[i].begin(), setup.shared[i].end());
  }
  const uint32_t *pin = in.data();
  uint32_t *pout = out.data();
  const uint8_t *ps = shared.data();
  const void *arguments[] = {&pin, &pout, &ps};
  const auto count = static_cast<uint32_t>(blocks);
  machine::LaunchConfig config{.grid = {count, 1, 1}, .block = {128, 1, 1}};
  config.cluster = {count, 1, 1};
  config.arithmetic = setup.arithmetic;
  ++session.forms;
  if (!launch(session, form, *module, config, arguments))
    return {};
  session.coverage.addModule(module->source(), session.kernel);
  std::vector<TensorImage> result(blocks);
  for (size_t i = 0; i < blocks; ++i)
    result[i].words.assign(out.begin() + ptrdiff_t(i * 128 * 512),
                           out.begin() + ptrdiff_t((i + 1) * 128 * 512));
  return result;
}

} // namespace tilewright::vgpu::forms
