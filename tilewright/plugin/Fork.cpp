#include "tilewright/plugin/Fork.h"

#include <pthread.h>

#include <atomic>

namespace tilewright::plugin {
namespace {
std::atomic<bool> forked = false;
} // namespace

void noticeForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  (void)registered; // fails only without memory
}

bool isForked() { return forked.load(std::memory_order_relaxed); }

Status checkNotForked() {
  if (!isForked())
    return Status();
  return Status(
      Code::failedPrecondition,
      "this process was forked from one that already used Tilewright, whose threads exist "
      "only there; start processes with "
      "multiprocessing.get_context('spawn'), or fork before JAX is first used");
}

} // namespace tilewright::plugin
