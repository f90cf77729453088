// The check that every fuzzer of communication plans runs on each input, and the mutations.
#ifndef TEST_FUZZ_PLANTARGET_H
#define TEST_FUZZ_PLANTARGET_H

#include "test/fuzz/ArtifactMutator.h"

#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// Reads `bytes` and checks the reader's promises. A failure is E6010 or E6011; a valid plan
/// satisfies its invariants and is the same after writing it. Proving it ends with a verdict that
/// can be printed or in E6019, and a plan without loops has the same verdict by program order and
/// by its instances. A second of CPU time and 256 MB must be enough. Prints what is broken and
/// aborts. Returns whether the plan could be read.
bool checkPlanBytes(std::string_view bytes);

/// Changes numbers of a plan that can be read, otherwise bytes.
std::string mutatePlan(std::string_view bytes, Random &random);

/// The bytes of a plan to start from.
std::string seedPlan(uint64_t seed);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_PLANTARGET_H
