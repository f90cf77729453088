// What every fuzzer of communication plans runs on each input, and how plans are changed.
#ifndef TEST_FUZZ_PLANTARGET_H
#define TEST_FUZZ_PLANTARGET_H

#include "test/fuzz/ArtifactMutator.h"

#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// Reads `bytes` and holds the reader to its word: a failure is E6010 or E6011, a plan that was
/// read keeps its rules and is written as it was; proving it ends in a verdict that can be told or
/// in E6019, and a plan without loops is judged the same by program order and by its instances. A
/// second of processor time and 256 MB are enough. Prints what is broken and aborts. Returns
/// whether it could be read.
bool checkPlanBytes(std::string_view bytes);

/// Changes numbers of a plan that can be read, else bytes.
std::string mutatePlan(std::string_view bytes, Random &random);

/// The bytes of a plan to start from.
std::string seedPlan(uint64_t seed);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_PLANTARGET_H
