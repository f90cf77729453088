// What every fuzzer of the artifact reader runs on each input.
#ifndef TEST_FUZZ_READTARGET_H
#define TEST_FUZZ_READTARGET_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace tilewright::fuzz {

/// Reads `artifact` and holds the reader to its word: an error has an id of its
/// own, a Module keeps its promises and can be written and read again, time
/// stays under a second and memory in proportion to the input. Prints what is
/// broken and aborts, as fuzzers want it. Returns whether it could be read.
bool checkArtifact(std::span<const uint8_t> artifact);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_READTARGET_H
