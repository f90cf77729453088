// Runs a kernel with all checks, in a process of its own.
#ifndef TEST_VGPU_MUTATION_RUN_H
#define TEST_VGPU_MUTATION_RUN_H

#include "Evidence.h"
#include "Kernels.h"

namespace tilewright::vgpu::mutation {

enum class Outcome : uint8_t {
  clean,    // correct result, and no findings
  refused,  // rejected when it was loaded
  reported, // found by the checks
  stopped,  // deadlock, livelock or misuse found by the virtual GPU
  wrong,    // a different result
  crashed,  // the process died
};
const char *nameOf(Outcome outcome);

struct Ran {
  Outcome outcome = Outcome::clean;
  std::string order; // the order in which it was found
  std::string text;  // the findings
};

/// Runs in eager, latest and `seeds` seeded orders until something is found. If `withChecks` is
/// false, only the virtual GPU's own errors and the result count.
Ran runIsolated(const Kernel &kernel, const std::string &text, uint32_t seeds, bool withChecks);

/// Determines the memory that a recorded kernel leaves, by running it in all those orders.
Status establish(const Kernel &kernel, const std::string &text, uint32_t seeds);

/// The events of the kernel in order `order`: 0 eager, 1 latest, from 2 on seeded with that number.
/// Empty if the kernel does not end, or ends with another result.
std::vector<Logged> logOf(const Kernel &kernel, const std::string &text, uint32_t order);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_RUN_H
