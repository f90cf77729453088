// readExecutable(): from bytes that nobody vouches for to an executable whose
// every index, size and slice is known to be good.
#ifndef TILEWRIGHT_ARTIFACT_READER_H
#define TILEWRIGHT_ARTIFACT_READER_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>

namespace tilewright::artifact {

/// Decodes and checks (see Check.h) an executable. Time and memory are linear
/// in the size of the input, whatever it holds. Constants, object and binary are
/// copied once, into the Executable, where they are used.
///
/// Fails with one of E5001 to E5019: what is broken, where, and what to do.
/// That bytes are accepted does not make their object code harmless: load
/// executables only from those whose programs you would run.
Result<Executable> readExecutable(std::span<const std::byte> bytes);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_READER_H
