// The check that every fuzzer of the GPU module loader runs on each input, and the mutations.
#ifndef TEST_FUZZ_BINARYTARGET_H
#define TEST_FUZZ_BINARYTARGET_H

#include "test/fuzz/ArtifactMutator.h"

#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// Loads `image` as a module of the driver, for two chips: opens the container, and parses, lays
/// out and decodes its PTX. A failure must have an error id of vgpu, and everything must take less
/// than ten seconds. Prints what is broken and aborts, as fuzzers expect. Returns whether the image
/// could be loaded for one of the chips.
bool checkBinary(std::string_view image);

/// Mutates text by words, and containers by bytes, fields or their embedded text.
std::string mutateBinary(std::string_view image, Random &random);

/// A fat binary that contains only this PTX, plain or compressed with LZ4.
std::string wrapPtx(std::string_view text, bool isPacked);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_BINARYTARGET_H
