// The check that every fuzzer of AMD's code objects runs on each input, and the mutations.
#ifndef TEST_FUZZ_AMDGCNTARGET_H
#define TEST_FUZZ_AMDGCNTARGET_H

#include "test/fuzz/ArtifactMutator.h"

#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// Decodes the first dwords of `input` as machine code of each chip, then reads it as a code object
/// or bundle, and checks the promises of both: an instruction lies inside its bytes, is printed,
/// and does not depend on the bytes after it; a refusal has an id; all sections and strings lie
/// inside the input. Aborts on a broken promise. Returns whether the input is a code object.
bool checkAmdgcn(std::string_view input);

/// Changes bits and bytes, or replaces a dword by the beginning of an instruction.
std::string mutateAmdgcn(std::string_view input, Random &random);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_AMDGCNTARGET_H
