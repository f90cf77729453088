// Branches, calls, thread exit, and dynamic local memory.
#include "test/vgpu/forms/FormKernel.h"
#include "tilewright/support/Concat.h"

namespace tilewright::vgpu::forms {

static constexpr uint32_t threads = 64;

static void runWords(Session &session, const Form &form, const std::string &text,
                     uint32_t (*expected)(uint32_t thread)) {
  std::vector<uint32_t> words(threads);
  for (uint32_t t = 0; t < threads; ++t)
    words[t] = expected(t);
  runWords(session, form, text, words, {.grid = {1, 1, 1}, .block = {threads, 1, 1}});
}

static const std::string finish = "st.global.u32 [%a1], %x1;\nret;\n}\n";

static void runForm(Session &session, const Form &form) {
  const std::string name = form.name();
  const bool isUniform = form.instruction.has(Modifier::uni);
  switch (form.row->handler) {
  case Handler::bra:
    // Each lane makes as many iterations as its number, except where a branch must be uniform.
    if (isUniform)
      return runWords(session, form,
                      threadHead() +
                          "mov.u32 %x1, 0; mov.u32 %x2, 0;\nL:\nadd.u32 %x1, %x1, 3; "
                          "add.u32 %x2, %x2, 1; setp.lt.u32 %p1, %x2, 10;\n@%p1 " +
                          name + " L;\n" + finish,
                      [](uint32_t) { return 30u; });
    return runWords(session, form,
                    threadHead() +
                        "mov.u32 %x1, 0; mov.u32 %x2, 0;\nL:\nadd.u32 %x1, %x1, 3; "
                        "add.u32 %x2, %x2, 1; setp.le.u32 %p1, %x2, %i;\n@%p1 " +
                        name + " L;\n" + finish,
                    [](uint32_t t) { return 3 * (t + 1); });
  case Handler::brx:
    return runWords(
        session, form,
        threadHead() + (isUniform ? "mov.u32 %x2, 2;\n" : "and.b32 %x2, %i, 3;\n") +
            "targets: .branchtargets A, B, C, D;\n" + name +
            " %x2, targets;\nA: mov.u32 %x1, 10; bra E;\nB: mov.u32 %x1, 20; bra E;\n"
            "C: mov.u32 %x1, 30; bra E;\nD: mov.u32 %x1, 40;\nE:\n" +
            finish,
        isUniform ? [](uint32_t) { return 30u; } : [](uint32_t t) { return 10 * (t % 4 + 1); });
  case Handler::call: {
    const std::string functions =
        ".func (.param .b32 result) twice(.param .b32 a) {\n.reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [a]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2;\nret;\n}\n"
        ".func (.param .b32 result) square(.param .b32 a) {\n.reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [a]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [result], %r2;\nret;\n}\n"
        // Predicates are passed in registers.
        ".func (.reg .pred even) isEven(.reg .b32 value, .reg .pred flips) {\n.reg .b32 %r<2>; "
        ".reg .pred %p<2>;\nand.b32 %r1, value, 1; setp.eq.u32 %p1, %r1, 0; "
        "xor.pred even, %p1, flips;\nret;\n}\n";
    // Calls directly, through a table indexed by lane, and with predicates.
    return runWords(
        session, form,
        threadHead(functions + ".global .align 8 .u64 table[2] = {twice, square};\n") +
            "{\n.param .b32 a; .param .b32 r; st.param.b32 [a], %i;\n" + name +
            " (r), twice, (a);\nld.param.b32 %x2, [r];\n}\n"
            "and.b32 %x3, %i, 1; " +
            (isUniform ? "mov.u32 %x3, 1; " : "") +
            "mul.wide.u32 %a2, %x3, 8; mov.u64 %a3, table; add.u64 %a3, %a3, %a2; "
            "ld.global.u64 %a4, [%a3];\n"
            "{\n.param .b32 a; .param .b32 r; st.param.b32 [a], %x2;\n"
            "prototype: .callprototype (.param .b32 _) _ (.param .b32 _);\n" +
            name +
            " (r), %a4, (a), prototype;\nld.param.b32 %x1, [r];\n}\n"
            "setp.gt.u32 %p2, %i, 40;\n" +
            name + " (%p3), isEven, (%i, %p2);\n@%p3 add.u32 %x1, %x1, 100000;\n" + finish,
        isUniform ? [](uint32_t t) { return 4 * t * t + ((t % 2 == 0) != (t > 40) ? 100000 : 0); }
                  : [](uint32_t t) {
                      return (t % 2 ? 4 * t * t : 4 * t) + ((t % 2 == 0) != (t > 40) ? 100000 : 0);
                    });
  }
  case Handler::ret:
    return runWords(
        session, form,
        threadHead(".func store(.param .b64 p, .param .b32 v) {\n.reg .b64 %a; .reg .b32 %r; "
                   ".reg .pred %p;\nld.param.b64 %a, [p]; ld.param.b32 %r, [v]; "
                   "st.global.u32 [%a], %r;\nsetp.gt.u32 %p, %r, 100;\n" +
                   std::string(isUniform ? "" : "@%p ") + name +
                   ";\nadd.u32 %r, %r, 1000; st.global.u32 [%a], %r;\nret;\n}\n") +
            "mul.lo.u32 %x1, %i, 10;\n{\n.param .b64 p; .param .b32 v; "
            "st.param.b64 [p], %a1; st.param.b32 [v], %x1;\ncall store, (p, v);\n}\n" +
            name + ";\n}\n",
        isUniform ? [](uint32_t t) { return 10 * t; }
                  : [](uint32_t t) { return 10 * t + (10 * t > 100 ? 0 : 1000); });
  case Handler::exit:
    return runWords(
        session, form,
        threadHead() + "mov.u32 %x1, 1; st.global.u32 [%a1], %x1; setp.lt.u32 %p1, %i, 20;\n@%p1 " +
            name + ";\nmov.u32 %x1, 2;\nbar.sync 0;\n" + finish,
        [](uint32_t t) { return t < 20 ? 1u : 2u; });
  case Handler::brkpt:
  case Handler::pmevent:
  case Handler::nanosleep:
    return runWords(session, form,
                    threadHead() + "mul.lo.u32 %x1, %i, 7; setp.lt.u32 %p1, %i, 5;\n@%p1 " + name +
                        (form.row->handler == Handler::brkpt     ? ""
                         : form.row->handler == Handler::pmevent ? " 1"
                                                                 : " 100") +
                        ";\n" + finish,
                    [](uint32_t t) { return 7 * t; });
  default: { // alloca, stacksave, stackrestore
    const std::string type = ptx::spellingOf(form.instruction.type());
    const bool isWide = type == "u64";
    auto reg = [&](unsigned n) { return (isWide ? "%d" : "%r") + std::to_string(n); };
    const std::string own(form.row->opcode);
    auto one = [&](const char *opcode) { return std::string(opcode) + "." + type; };
    // Allocates blocks whose size depends on the thread; a second round reuses the memory.
    std::string text =
        threadHead() + "mov.u32 %x1, 0; mov.u32 %x8, 0;\n" +
        (isWide ? "cvt.u64.u32 %d1, %i; mad.lo.u64 %d1, %d1, 4, 16;\n"
                : "mad.lo.u32 %r1, %i, 4, 16;\n") +
        "AGAIN:\n" + one("stacksave") + " " + reg(2) + ";\n" + one("alloca") + " " + reg(3) + ", " +
        reg(1) + ", 8;\n" + one("alloca") + " " + reg(4) + ", " + reg(1) +
        ";\nmul.lo.u32 %x2, %i, 3; st.local.u32 [" + reg(3) + "], %x2; st.local.u32 [" + reg(4) +
        "], 5; st.local.u32 [" + reg(3) + "+12], 2;\nld.local.u32 %x3, [" + reg(3) +
        "]; ld.local.u32 %x4, [" + reg(4) + "]; ld.local.u32 %x5, [" + reg(3) +
        "+12]; add.u32 %x1, %x1, %x3; add.u32 %x1, %x1, %x4; add.u32 %x1, %x1, %x5;\n" +
        one("stackrestore") + " " + reg(2) +
        ";\nadd.u32 %x8, %x8, 1; setp.lt.u32 %p1, %x8, 100; @%p1 bra AGAIN;\n" + finish;
    return runWords(session, form, text, [](uint32_t t) { return 100 * (3 * t + 7); });
  }
  }
}

/// trap ends the launch and reports its location.
static void runTrap(Session &session, const Form &form) {
  std::shared_ptr<machine::LoadedModule> module =
      load(session, form,
           threadHead() + "setp.eq.u32 %p1, %i, 3;\n@%p1 " + form.name() + ";\nret;\n}\n");
  if (!module)
    return;
  uint32_t word = 0;
  uint32_t *pout = &word;
  const void *arguments[] = {&pout};
  ++session.forms, ++session.values;
  Status status = machine::launch(*module, session.kernel,
                                  {.grid = {1, 1, 1}, .block = {threads, 1, 1}}, arguments);
  if (status.error() != Error::vgpuFault)
    session.fail(form, "the launch went on: " + status.toString());
  else
    session.coverage.add(form.row->name);
}

/// Cluster launch control: six places in a grid of 3 × 2, each counted once.
static void runLaunchControl(Session &session, const Form &form) {
  const std::string prefix = "clusterlaunchcontrol.";
  std::string cancel =
      prefix + "try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%a3], [%a4];";
  if (form.row->handler == Handler::launchCancel) {
    const bool isGeneric = form.instruction.find(ModifierKind::space) == Modifier::none;
    cancel = form.name() + (isGeneric ? " [%a5], [%a6];" : " [%a3], [%a4];");
  }
  // A query of the form under test repeats one of the others.
  std::string again;
  if (form.row->name == "launch_first_x" || form.row->name == "launch_first_y")
    again = concat(form.name(), " %x8, %q1; setp.ne.u32 %p5, %x8, ",
                   form.row->name == "launch_first_x" ? "%x4" : "%x5", "; @%p5 trap;\n");
  else if (form.row->name == "launch_first_z")
    again = form.name() + " %x8, %q1; setp.ne.u32 %p5, %x8, 0; @%p5 trap;\n";
  const std::string text =
      moduleHead() + ".visible .entry k(.param .u64 pout) {\n" + registerDeclarations() +
      ".shared .align 16 .b8 response[16]; .shared .align 8 .b64 arrived;\n"
      "ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x; setp.eq.u32 %p1, %i, 0;\n"
      "mov.u64 %a3, response; mov.u64 %a4, arrived; cvta.shared.u64 %a5, %a3; "
      "cvta.shared.u64 %a6, %a4;\n"
      "@%p1 mbarrier.init.shared.b64 [arrived], 1; bar.sync 0;\n"
      "mov.u32 %x4, %ctaid.x; mov.u32 %x5, %ctaid.y; mov.u32 %x6, 0;\n"
      "NEXT:\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [arrived], 16;\n@%p1 " +
      cancel +
      "\nmad.lo.u32 %x7, %x5, 3, %x4; mul.wide.u32 %a0, %x7, 4; add.u64 %a1, %a0, %out;\n"
      "@%p1 red.global.add.u32 [%a1], 1;\n"
      "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [arrived], %x6; @!%p2 bra WAIT;\n"
      "xor.b32 %x6, %x6, 1; ld.shared.b128 %q1, [response]; bar.sync 0;\n" +
      prefix + "query_cancel.is_canceled.pred.b128 %p3, %q1;\n@!%p3 ret;\n" + prefix +
      "query_cancel.get_first_ctaid.v4.b32.b128 {%x4, %x5, %x9, _}, %q1;\n" + again +
      "bra NEXT;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return;
  std::vector<uint32_t> out(6);
  uint32_t *pout = out.data();
  const void *arguments[] = {&pout};
  ++session.forms;
  if (!launch(session, form, *module, {.grid = {3, 2, 1}, .block = {32, 1, 1}}, arguments))
    return;
  for (uint32_t place = 0; place < 6; ++place) {
    ++session.values;
    if (out[place] != 1)
      return session.fail(form, concat("place ", place, " was counted ", out[place], " times"));
  }
  session.coverage.addModule(module->source(), session.kernel);
}

void runControl(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable())
    for (const Form &form : formsOf(row, session.perRow, session.random))
      switch (row.handler) {
      case Handler::bra:
      case Handler::brx:
      case Handler::call:
      case Handler::ret:
      case Handler::exit:
      case Handler::brkpt:
      case Handler::pmevent:
      case Handler::nanosleep:
      case Handler::alloca:
      case Handler::stacksave:
      case Handler::stackrestore:
        runForm(session, form);
        break;
      case Handler::launchCancel:
      case Handler::launchQuery:
        runLaunchControl(session, form);
        break;
      case Handler::trap:
        runTrap(session, form);
        break;
      default:
        break;
      }
}

} // namespace tilewright::vgpu::forms
