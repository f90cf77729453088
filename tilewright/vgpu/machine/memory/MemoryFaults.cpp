#include "tilewright/vgpu/machine/memory/MemoryFaults.h"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <ucontext.h>

namespace tilewright::vgpu::machine {

namespace {
/// Data for the signal handler, provided by a thread that runs a kernel.
struct Watch {
  sigjmp_buf before;
  const Program *program = nullptr;
  MemoryFault fault;
};
} // namespace

// initial-exec, because the variable must not be allocated lazily in a signal handler.
[[gnu::tls_model("initial-exec")]] static thread_local Watch *watch = nullptr;
static struct sigaction earlierSegv, earlierBus;

/// The operation of `program` that `value` points to, or null.
static const Op *operationAt(const Program &program, uint64_t value) {
  for (const auto &function : program.functions) {
    const auto begin = reinterpret_cast<uint64_t>(function->code.data());
    const uint64_t offset = value - begin;
    if (value >= begin && offset < function->code.size() * sizeof(Op) && offset % sizeof(Op) == 0)
      return function->code.data() + offset / sizeof(Op);
  }
  return nullptr;
}

/// Finds the operation that a handler was executing. Handlers keep a pointer to it in a host
/// register, or on the stack if they are compiled with a sanitizer. The compiler chooses the
/// location, but no other value looks like such a pointer. `end` is above the stack of the
/// handlers.
[[gnu::no_sanitize("address")]] static const Op *operationIn(const Program &program,
                                                             const void *context, const void *end) {
#if defined(__x86_64__)
  const auto &registers = static_cast<const ucontext_t *>(context)->uc_mcontext.gregs;
  for (int one : {REG_RSI, REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15, REG_RDI, REG_RAX,
                  REG_RCX, REG_RDX, REG_R8, REG_R9, REG_R10, REG_R11})
    if (const Op *found = operationAt(program, static_cast<uint64_t>(registers[one])))
      return found;
  constexpr ptrdiff_t most = 1024; // words
  const auto *word = reinterpret_cast<const uint64_t *>(registers[REG_RSP] & ~greg_t(7));
  const auto *last = std::min(static_cast<const uint64_t *>(end), word + most);
  for (; word < last; ++word)
    if (const Op *found = operationAt(program, *word))
      return found;
#endif
  return nullptr;
}

static void pass(int signal, siginfo_t *info, void *context) {
  const struct sigaction &earlier = signal == SIGBUS ? earlierBus : earlierSegv;
  if (earlier.sa_flags & SA_SIGINFO) {
    earlier.sa_sigaction(signal, info, context);
    return;
  }
  if (earlier.sa_handler == SIG_IGN)
    return;
  if (earlier.sa_handler == SIG_DFL) {
    // Restore the default action: the faulting instruction runs again and ends the process.
    ::signal(signal, SIG_DFL);
    return;
  }
  earlier.sa_handler(signal);
}

static void onFault(int signal, siginfo_t *info, void *context) {
  Watch *here = watch;
  // The signal was sent by another process (kill -SEGV), or the fault is not in a kernel.
  if (!here || info->si_code <= 0)
    return pass(signal, info, context);
  watch = nullptr;
  here->fault.address = reinterpret_cast<uint64_t>(info->si_addr);
  here->fault.op = operationIn(*here->program, context, here);
  siglongjmp(here->before, 1);
}

static void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &earlierSegv);
    sigaction(SIGBUS, &action, &earlierBus);
  });
}

bool runCatchingFaults(const Program &program, void (*work)(void *argument), void *argument,
                       MemoryFault &fault) {
  install();
  Watch here;
  here.program = &program;
  // The handler does not block its signal (SA_NODEFER), so the signal mask need not be restored.
  if (sigsetjmp(here.before, /*savemask=*/0) != 0) {
    fault = here.fault;
    return false;
  }
  Watch *outer = watch;
  watch = &here;
  work(argument);
  watch = outer;
  return true;
}

} // namespace tilewright::vgpu::machine
