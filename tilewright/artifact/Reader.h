// readExecutable(): decodes untrusted bytes to an executable in which every index, size and slice
// is valid.
#ifndef TILEWRIGHT_ARTIFACT_READER_H
#define TILEWRIGHT_ARTIFACT_READER_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>

namespace tilewright::artifact {

/// Decodes and checks (see Check.h) an executable. Time and memory are linear in the size of the
/// input, for any input. The reader copies constants, objects and binary once, into the Executable,
/// which uses them in place.
///
/// Fails with one of E5001 to E5019, which state what is invalid, where, and what to do. Valid
/// bytes may still contain malicious object code: load executables only from sources whose programs
/// you would run.
Result<Executable> readExecutable(std::span<const std::byte> bytes);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_READER_H
