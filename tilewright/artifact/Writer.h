// writeExecutable(): the bytes of an executable.
#ifndef TILEWRIGHT_ARTIFACT_WRITER_H
#define TILEWRIGHT_ARTIFACT_WRITER_H

#include "tilewright/artifact/Executable.h"

#include <cstddef>
#include <vector>

namespace tilewright::artifact {

/// Equal executables give equal bytes. `executable.fingerprint` is not looked
/// at: the one in the bytes is computed from the rest. Nothing is checked here;
/// Check.h does that, and the reader always.
std::vector<std::byte> writeExecutable(const Executable &executable);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_WRITER_H
