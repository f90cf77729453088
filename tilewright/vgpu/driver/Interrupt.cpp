#include "tilewright/vgpu/driver/Interrupt.h"

#include <csignal>
#include <mutex>
#include <pthread.h>

namespace tilewright::vgpu::driver {

static std::atomic<bool> requested = false;
static struct sigaction earlier; // the program's handler while ours is installed

static bool hasFunction(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

/// Ends the process as SIGINT does by default.
static void endByInterrupt() {
  struct sigaction byDefault = {};
  byDefault.sa_handler = SIG_DFL;
  sigaction(SIGINT, &byDefault, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(SIGINT);
}

static void onInterrupt(int signal, siginfo_t *info, void *context) {
  if (requested.exchange(true)) {
    endByInterrupt();
    return;
  }
  if (!hasFunction(earlier))
    return;
  if (earlier.sa_flags & SA_SIGINFO)
    earlier.sa_sigaction(signal, info, context);
  else
    earlier.sa_handler(signal);
}

static bool isOurs(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == onInterrupt;
}

namespace {
struct Scopes {
  std::mutex mutex;
  unsigned count = 0;       // guarded by mutex
  bool isInstalled = false; // guarded by mutex
};
} // namespace
static Scopes &scopes() {
  static auto &only = *new Scopes(); // outlives main(), as the streams do
  return only;
}

InterruptScope::InterruptScope() {
  Scopes &all = scopes();
  std::lock_guard lock(all.mutex);
  if (all.count++ != 0)
    return;
  requested = false;
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  const bool isIgnored = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN;
  if (isIgnored || isOurs(now))
    return;
  earlier = now;
  struct sigaction action = {};
  action.sa_sigaction = onInterrupt;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  all.isInstalled = sigaction(SIGINT, &action, nullptr) == 0;
}

InterruptScope::~InterruptScope() {
  Scopes &all = scopes();
  bool endsProcess = false;
  {
    std::lock_guard lock(all.mutex);
    if (--all.count != 0 || !all.isInstalled)
      return;
    all.isInstalled = false;
    // If the program has installed another handler in the meantime, keep that handler.
    struct sigaction now = {};
    sigaction(SIGINT, nullptr, &now);
    if (isOurs(now))
      sigaction(SIGINT, &earlier, nullptr);
    endsProcess = requested && !hasFunction(earlier);
  }
  if (endsProcess)
    endByInterrupt();
}

const std::atomic<bool> &InterruptScope::isRequested() const { return requested; }

} // namespace tilewright::vgpu::driver
