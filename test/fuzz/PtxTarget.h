// The check that every fuzzer of the PTX reader runs on each input, and the mutations.
#ifndef TEST_FUZZ_PTXTARGET_H
#define TEST_FUZZ_PTXTARGET_H

#include "test/fuzz/ArtifactMutator.h"

#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// Parses `text` and checks the parser's promises: an error has an id of vgpu and a location, every
/// index of a Module is inside its table, the printed module parses to the same one, and everything
/// takes less than a second. The virtual GPU loads the module or rejects it with an error id.
/// Prints what is broken and aborts, as fuzzers expect. Returns whether the text could be parsed.
bool checkPtx(std::string_view text);

/// Changes a few words: removes, duplicates or swaps them, or inserts a word of PTX.
std::string mutatePtx(std::string_view text, Random &random);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_PTXTARGET_H
