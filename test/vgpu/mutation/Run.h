// Runs a kernel with all checks, in a process of its own.
#ifndef TEST_VGPU_MUTATION_RUN_H
#define TEST_VGPU_MUTATION_RUN_H

#include "Evidence.h"
#include "Kernels.h"

namespace tilewright::vgpu::mutation {

enum class Outcome : uint8_t {
  clean,    // right, and nothing was said
  refused,  // when it was loaded
  reported, // by the checks
  stopped,  // deadlock, livelock, misuse that the machine found
  wrong,    // another result
  crashed,  // the process died
};
const char *nameOf(Outcome outcome);

struct Ran {
  Outcome outcome = Outcome::clean;
  std::string order; // under which
  std::string text;  // what was said
};

/// Runs under eager, latest and `seeds` seeded orders until something is found.
/// `withChecks` false: only the machine and the result speak.
Ran runIsolated(const Kernel &kernel, const std::string &text, uint32_t seeds, bool withChecks);

/// Sets what a recorded kernel leaves, from itself under all those orders.
Status establish(const Kernel &kernel, const std::string &text, uint32_t seeds);

/// What the kernel does, in the eager or the latest order.
std::vector<Logged> logOf(const Kernel &kernel, const std::string &text, bool isLate);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_RUN_H
