// Barriers, fences and mbarriers: programs whose result is wrong if an instruction does not do its
// part.
#include "test/vgpu/forms/FormKernel.h"
#include "tilewright/support/Concat.h"

#include <sstream>

namespace tilewright::vgpu::forms {

/// Named barriers. 128 threads write, wait, and read what another warp wrote.
static void runNamed(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Handler handler = form.row->handler;
  const bool isCounted = handler == Handler::barArrive || session.random() & 1;
  const char *count = isCounted ? ", 128" : "";
  std::string text = threadHead("", ".shared .align 4 .b32 box[128];\n") +
                     "mov.u32 %x1, box; mad.lo.u32 %x2, %i, 4, %x1; mul.lo.u32 %x3, %i, 3;\n"
                     "rem.u32 %x4, %i, 3; setp.eq.u32 %p1, %x4, 0;\n"
                     "add.u32 %x5, %i, 33; and.b32 %x5, %x5, 127; mad.lo.u32 %x5, %x5, 4, %x1;\n";
  std::vector<uint32_t> expected(128);
  uint32_t votes = 0; // of !%p1
  for (uint32_t t = 0; t < 128; ++t)
    votes += t % 3 != 0;
  const std::string write = "st.shared.u32 [%x2], %x3;\n";
  for (uint32_t t = 0; t < 128; ++t)
    expected[t] = (t + 33) % 128 * 3;
  if (handler == Handler::barSync) {
    text += write + form.name() + " 3" + count + ";\nld.shared.u32 %x6, [%x5];\n";
  } else if (handler == Handler::barArrive) {
    // Two warps produce, two consume.
    text += "setp.ge.u32 %p2, %i, 64; @%p2 bra F;\n" + write + form.name() +
            " 3, 128;\nmov.u32 %x6, 7;\nbra E;\nF:\nbar.sync 3, 128;\n"
            "add.u32 %x7, %x2, -256; ld.shared.u32 %x6, [%x7];\nE:\n";
    for (uint32_t t = 0; t < 128; ++t)
      expected[t] = t < 64 ? 7 : (t - 64) * 3;
  } else {
    const bool isPopc = instruction.has(Modifier::popc);
    text += write + form.name() + (isPopc ? " %x8" : " %p3") + ", 3" + count + ", !%p1;\n" +
            (isPopc ? "" : "selp.u32 %x8, 1, 0, %p3;\n") +
            "ld.shared.u32 %x6, [%x5];\nmad.lo.u32 %x6, %x8, 1000, %x6;\n";
    const uint32_t result = isPopc ? votes : instruction.has(Modifier::opAnd) ? 0 : 1;
    for (uint32_t &one : expected)
      one += result * 1000;
  }
  text += "st.global.u32 [%a1], %x6;\nret;\n}\n";
  runWords(session, form, text, expected, {.grid = {1, 1, 1}, .block = {128, 1, 1}});
}

/// Divergent lanes exchange words.
static void runWarpBarrier(Session &session, const Form &form) {
  const std::string text =
      threadHead("", ".shared .align 4 .b32 box[32];\n") +
      "mov.u32 %x1, box; mad.lo.u32 %x2, %i, 4, %x1; xor.b32 %x3, %i, 1; "
      "mad.lo.u32 %x3, %x3, 4, %x1;\nand.b32 %x4, %i, 1; setp.eq.u32 %p1, %x4, 1;\n"
      "mul.lo.u32 %x5, %i, 5;\n@%p1 bra ODD;\nst.shared.u32 [%x2], %x5;\n" +
      form.name() +
      " 0xffffffff;\nld.shared.u32 %x6, [%x3];\nbra E;\nODD:\nst.shared.u32 [%x2], %x5;\n" +
      form.name() +
      " 0xffffffff;\nld.shared.u32 %x6, [%x3];\nE:\nst.global.u32 [%a1], %x6;\nret;\n}\n";
  std::vector<uint32_t> expected;
  for (uint32_t lane = 0; lane < 32; ++lane)
    expected.push_back((lane ^ 1) * 5);
  runWords(session, form, text, expected, {.grid = {1, 1, 1}, .block = {32, 1, 1}});
}

/// Two blocks of a cluster read each other's word.
static void runClusterBarrier(Session &session, const Form &form) {
  const bool isArrive = form.row->handler == Handler::clusterArrive;
  const std::string arrive = isArrive ? form.name() : "barrier.cluster.arrive.aligned";
  const std::string wait = isArrive ? "barrier.cluster.wait.aligned" : form.name();
  std::string text =
      threadHead("", ".shared .align 4 .b32 box;\n") +
      "mov.u32 %x1, %cluster_ctarank; add.u32 %x2, %x1, 40; mov.u32 %x9, box; "
      "st.shared.u32 [%x9], %x2; xor.b32 %x3, %x1, 1; mapa.shared::cluster.u32 %x4, %x9, %x3;\n" +
      // Relaxed arrivals need a fence beside them.
      "fence.acq_rel.cluster;\n" + arrive + ";\n" + wait + ";\n" +
      "ld.shared::cluster.u32 %x5, [%x4];\n" + arrive + ";\n" + wait + ";\n" +
      "mul.wide.u32 %a2, %x1, 4; add.u64 %a2, %a2, %out; st.global.u32 [%a2], %x5;\nret;\n}\n";
  runWords(session, form, text, {41, 40},
           {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}});
}

/// One warp writes data and then a flag; the other waits for the flag and reads the data.
static void runFence(Session &session, const Form &form) {
  const bool hasAddress = form.row->name == "fence_proxy_acquire";
  const std::string fence = form.name() + (hasAddress ? " [%out], 128;\n" : ";\n");
  std::string text = threadHead("", ".shared .align 8 .b32 box[2];\n");
  text +=
      "mov.u32 %x1, box; setp.ge.u32 %p1, %i, 32;\n"
      "setp.eq.u32 %p3, %i, 0; @%p3 st.shared.v2.u32 [%x1], {0, 0};\nbar.sync 0;\n"
      "@%p1 bra READ;\nst.relaxed.cta.shared.u32 [%x1], 77;\n" +
      fence +
      "st.relaxed.cta.shared.u32 [%x1+4], 1;\nret;\n"
      "READ:\nld.relaxed.cta.shared.u32 %x2, [%x1+4]; setp.eq.u32 %p2, %x2, 0; @%p2 bra READ;\n" +
      fence +
      "ld.relaxed.cta.shared.u32 %x3, [%x1]; sub.u64 %a1, %a1, 128; st.global.u32 [%a1], "
      "%x3;\nret;\n}\n";
  runWords(session, form, text, std::vector<uint32_t>(32, 77),
           {.grid = {1, 1, 1}, .block = {64, 1, 1}, .cluster = {1, 1, 1}});
}

/// Instructions without an effect that a program sees; they must not disturb the code around them.
static void runPlain(Session &session, const Form &form) {
  std::string instruction = form.name();
  if (form.row->handler == Handler::setmaxnreg)
    instruction += form.row->name == "setmaxnreg_inc" ? " 232" : " 40";
  const std::string text = threadHead() + "mul.lo.u32 %x1, %i, 9;\n" + instruction +
                           ";\nst.global.u32 [%a1], %x1;\nret;\n}\n";
  std::string withLimit = text;
  // setmaxnreg requires a kernel that declares its number of threads.
  const size_t at = withLimit.find(") {");
  withLimit.replace(at, 3, ") .maxntid 128, 1, 1 {");
  std::vector<uint32_t> expected;
  for (uint32_t t = 0; t < 128; ++t)
    expected.push_back(9 * t);
  runWords(session, form, withLimit, expected, {.grid = {1, 1, 1}, .block = {128, 1, 1}});
}

// mbarriers. One program exercises the whole life of a barrier; the form under test replaces the
// instruction of its kind.

namespace {
struct Model {
  int expected = 0, pending = 0, bytes = 0;
  unsigned phase = 0;
  void init(int count) { *this = {count, count, 0, 0}; }
  void complete() {
    if (pending == 0 && bytes == 0) {
      ++phase;
      pending = expected;
    }
  }
  void arrive(int count, bool drops) {
    pending -= count;
    expected -= drops ? count : 0;
    complete();
  }
};
} // namespace

static void runMbarrier(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const std::string_view opcode = form.row->opcode;
  const Handler handler = form.row->handler;
  const Modifier space = instruction.find(ModifierKind::space);
  const bool isGeneric = space == Modifier::none, isCluster = space == Modifier::sharedCluster;
  // The barrier's address for the form: an offset, a generic address, or a cluster address.
  const std::string place = isGeneric ? "[%a10]" : isCluster ? "[%x11]" : "[%x10]";
  const bool isArrive = handler == Handler::mbarrierArrive;
  const bool drops = opcode.find("arrive_drop") != opcode.npos;
  const bool expects = opcode.find("expect_tx") != opcode.npos && isArrive;
  const bool noComplete = opcode.find("noComplete") != opcode.npos;
  const bool hasCount = isArrive && !expects && (noComplete || session.random() & 1);
  const bool isRemote = isArrive && isCluster;
  const int count = hasCount ? 2 : 1;
  const bool byParity = opcode.find("parity") != opcode.npos;

  std::vector<uint32_t> expected;
  std::ostringstream text;
  Model model;
  text << moduleHead() << ".visible .entry k(.param .u64 pout) {\n"
       << registerDeclarations() << ".shared .align 8 .b64 bar;\n"
       << "ld.param.u64 %out, [pout]; mov.u32 %x10, bar; cvt.u64.u32 %a10, %x10; "
          "cvta.shared.u64 %a10, %a10;\n"
          // Block 1 addresses the barrier of block 0; block 0 its own.
          "mapa.shared::cluster.u32 %x11, %x10, 0; mov.u32 %x12, %cluster_ctarank; "
          "setp.ne.u32 %p9, %x12, 0;\n";
  auto emit = [&](const std::string &line) { text << line << "\n"; };
  auto store = [&](const char *value, uint32_t wanted) {
    emit(concat("st.global.u32 [%out+", 4 * expected.size(), "], ", value, ";"));
    expected.push_back(wanted);
  };
  auto meet = [&] { emit("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"); };
  // Tests a wait and stores its result; `phase` is that of the state or parity that it waits for.
  auto test = [&](bool useForm, unsigned phase, const char *state) {
    const bool wanted = model.phase > phase;
    if (useForm && handler == Handler::mbarrierWait) {
      const bool isTry = opcode.find("try_wait") != opcode.npos;
      // try_wait blocks, so it is only tested if the phase has completed.
      if (isTry && !wanted)
        return;
      emit(concat(form.name(), " %p1, ", place, ", ",
                  byParity ? std::to_string(phase & 1) : std::string(state),
                  isTry && session.random() & 1 ? ", 1000" : "", ";"));
    } else {
      emit(concat("mbarrier.test_wait.parity.shared.b64 %p1, [%x10], ", phase & 1, ";"));
    }
    emit("selp.u32 %x1, 1, 0, %p1;");
    store("%x1", wanted);
  };
  auto initialise = [&](int number) {
    emit(handler == Handler::mbarrierInit
             ? concat(form.name(), " ", place, ", ", number, ";")
             : concat("mbarrier.init.shared.b64 [%x10], ", number, ";"));
    model.init(number);
  };
  auto transact = [&](std::string_view which, int bytes) {
    const bool isForm = opcode == which;
    emit(concat(isForm ? form.name() : concat(which, ".relaxed.cta.shared::cta.b64"), " ",
                isForm ? place : "[%x10]", ", ", bytes, ";"));
    model.bytes += which == "mbarrier.expect_tx" ? bytes : -bytes;
    model.complete();
  };

  emit("@%p9 bra REMOTE1;");
  initialise(6);
  // A state of phase 0, for waits by state.
  emit("mbarrier.arrive.shared.b64 %d1, [%x10];");
  model.arrive(1, false);
  emit("REMOTE1:");
  meet();
  emit(isRemote ? "@!%p9 bra DONE1;" : "@%p9 bra DONE1;");
  if (isArrive) {
    const std::string state = isRemote || session.random() % 3 == 0 ? "_" : "%d2";
    emit(concat(form.name(), " ", state, ", ", place,
                expects    ? ", 48"
                : hasCount ? concat(", ", count)
                           : std::string(),
                ";"));
    model.bytes += expects ? 48 : 0;
    model.arrive(count, drops);
    if (noComplete && state == "%d2") {
      emit("mbarrier.pending_count.b64 %x2, %d2;");
      // The count before the arrival.
      emit("mov.u32 %x13, %x2;");
      store("%x13", static_cast<uint32_t>(model.pending + count));
    }
  } else {
    emit("mbarrier.arrive.shared.b64 %d2, [%x10];");
    model.arrive(1, false);
  }
  emit("DONE1:");
  meet();
  emit("@%p9 bra END;");
  test(true, 0, "%d1");
  transact("mbarrier.expect_tx", 32);
  const int rest = model.pending - 1;
  emit(concat("mbarrier.arrive.noComplete.shared.b64 %d3, [%x10], ", rest, ";"));
  emit(handler == Handler::mbarrierPending ? form.name() + " %x2, %d3;"
                                           : "mbarrier.pending_count.b64 %x2, %d3;");
  store("%x2", static_cast<uint32_t>(model.pending));
  model.arrive(rest, false);
  emit("mbarrier.arrive.shared.b64 _, [%x10];");
  model.arrive(1, false);
  test(true, 0, "%d1"); // the bytes have not arrived
  if (expects)
    transact("mbarrier.complete_tx", 48);
  transact("mbarrier.complete_tx", 32);
  test(true, 0, "%d1");
  // The next phase needs the arrivals that were not dropped.
  emit("mbarrier.arrive.shared.b64 %d4, [%x10];");
  model.arrive(1, false);
  const int next = model.expected - 2;
  emit(concat("mbarrier.arrive.noComplete.shared.b64 _, [%x10], ", next, ";"));
  model.arrive(next, false);
  test(true, 1, "%d4");
  emit("mbarrier.arrive.shared.b64 _, [%x10];");
  model.arrive(1, false);
  test(true, 1, "%d4");
  // Invalidates and initialises the barrier again.
  emit(handler == Handler::mbarrierInval ? concat(form.name(), " ", place, ";")
                                         : "mbarrier.inval.shared.b64 [%x10];");
  initialise(1);
  emit("mbarrier.arrive.shared.b64 %d5, [%x10];");
  model.arrive(1, false);
  test(true, 0, "%d5");
  emit("END:");
  meet();
  text << "ret;\n}\n";
  runWords(session, form, text.str(), expected,
           {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}});
}

void runBarriers(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable()) {
    void (*run)(Session &, const Form &) = nullptr;
    switch (row.handler) {
    case Handler::barSync:
    case Handler::barArrive:
    case Handler::barRed:
      run = runNamed;
      break;
    case Handler::barWarp:
      run = runWarpBarrier;
      break;
    case Handler::clusterArrive:
    case Handler::clusterWait:
      run = runClusterBarrier;
      break;
    case Handler::fence:
    case Handler::fenceProxy:
      run = runFence;
      break;
    case Handler::griddepcontrol:
    case Handler::setmaxnreg:
      run = runPlain;
      break;
    case Handler::mbarrierInit:
    case Handler::mbarrierInval:
    case Handler::mbarrierTx:
    case Handler::mbarrierArrive:
    case Handler::mbarrierWait:
    case Handler::mbarrierPending:
      run = runMbarrier;
      break;
    default:
      break;
    }
    if (run)
      for (const Form &form : formsOf(row, session.perRow, session.random))
        for (unsigned i = 0; i < 3; ++i)
          run(session, form);
  }
}

} // namespace tilewright::vgpu::forms
