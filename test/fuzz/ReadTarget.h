// The check that every fuzzer of the artifact reader runs on each input.
#ifndef TEST_FUZZ_READTARGET_H
#define TEST_FUZZ_READTARGET_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace tilewright::fuzz {

/// Reads `artifact` and checks the reader's promises: an error has its own id, a Module satisfies
/// its invariants and can be written and read again, everything takes less than a second, and
/// memory is proportional to the input. Prints what is broken and aborts, as fuzzers expect.
/// Returns whether the artifact could be read.
bool checkArtifact(std::span<const uint8_t> artifact);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_READTARGET_H
