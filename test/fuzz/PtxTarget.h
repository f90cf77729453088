// What every fuzzer of the PTX reader runs on each input, and how text is changed.
#ifndef TEST_FUZZ_PTXTARGET_H
#define TEST_FUZZ_PTXTARGET_H

#include "test/fuzz/ArtifactMutator.h"

#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// Parses `text` and holds the parser to its word: an error has an id of vgpu and
/// a place, every index of a Module lies in its table, what is printed reads the
/// same, time stays under a second; the machine loads it or refuses it with an id. Prints what is
/// broken and aborts, as fuzzers want it. Returns whether it could be read.
bool checkPtx(std::string_view text);

/// Changes a few words: drops, doubles, swaps them, or puts in one of PTX.
std::string mutatePtx(std::string_view text, Random &random);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_PTXTARGET_H
