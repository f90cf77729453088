#include "tilewright/vgpu/driver/Fault.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace tilewright::vgpu::driver {

namespace {
/// A handler of signals can take no lock, so names lie in a fixed table.
struct Slot {
  std::atomic<bool> isTaken = false;
  std::atomic<bool> isNamed = false;
  char name[160] = {};
};
} // namespace

static Slot slots[64];
static struct sigaction oldSegmentation, oldBus;

static void put(const char *text, size_t size) {
  while (size > 0) {
    const ssize_t count = write(STDERR_FILENO, text, size);
    if (count <= 0)
      return;
    text += count;
    size -= static_cast<size_t>(count);
  }
}
static void put(const char *text) { put(text, std::strlen(text)); }

static void onFault(int signal, siginfo_t *info, void *) {
  bool isFirst = true;
  for (Slot &slot : slots)
    if (slot.isNamed.load(std::memory_order_acquire)) {
      put(isFirst ? "tilewright vgpu: the process touched memory at 0x" : " and ");
      if (isFirst) {
        char digits[17] = {};
        auto address = reinterpret_cast<uintptr_t>(info->si_addr);
        for (int i = 15; i >= 0; --i, address >>= 4)
          digits[i] = "0123456789abcdef"[address & 15];
        put(digits);
        put(", which it has not, while these kernels ran: ");
      }
      put(slot.name);
      isFirst = false;
    }
  if (!isFirst)
    put("\n  a kernel's pointer or index is probably wrong; kernels use the host's memory as it is,"
        " and a check of bounds (TILEWRIGHT_VGPU_CHECK) names the access\n");
  // It happens again when this returns, and takes the way that it had before.
  sigaction(SIGSEGV, &oldSegmentation, nullptr);
  sigaction(SIGBUS, &oldBus, nullptr);
  (void)signal;
}

RunningKernel::RunningKernel(std::string_view name) : slot(-1) {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &oldSegmentation);
    sigaction(SIGBUS, &action, &oldBus);
  });
  for (int i = 0; i < static_cast<int>(std::size(slots)); ++i) {
    if (slots[i].isTaken.exchange(true, std::memory_order_acquire))
      continue;
    const size_t size = std::min(name.size(), sizeof(slots[i].name) - 1);
    std::memcpy(slots[i].name, name.data(), size);
    slots[i].name[size] = 0;
    slots[i].isNamed.store(true, std::memory_order_release);
    slot = i;
    return;
  }
}

RunningKernel::~RunningKernel() {
  if (slot < 0)
    return;
  slots[slot].isNamed.store(false, std::memory_order_relaxed);
  slots[slot].isTaken.store(false, std::memory_order_release);
}

} // namespace tilewright::vgpu::driver
