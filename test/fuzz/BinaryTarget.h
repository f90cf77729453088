// What every fuzzer of the loader of GPU modules runs on each input, and how inputs are changed.
#ifndef TEST_FUZZ_BINARYTARGET_H
#define TEST_FUZZ_BINARYTARGET_H

#include "test/fuzz/ArtifactMutator.h"

#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// Takes `image` as a module of the driver, for two chips: the container is opened, its PTX
/// parsed, laid out and decoded. A failure must have an id of vgpu, and everything take
/// less than ten seconds. Prints what is broken and aborts, as fuzzers want it. Returns
/// whether it could be loaded for one of the chips.
bool checkBinary(std::string_view image);

/// Changes text by words; of a container bytes, fields, or the text that is in it.
std::string mutateBinary(std::string_view image, Random &random);

/// PTX as the one part of a fat binary: as it is, or packed as LZ4.
std::string wrapPtx(std::string_view text, bool isPacked);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_BINARYTARGET_H
