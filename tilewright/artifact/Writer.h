// writeExecutable(): serialises an executable.
#ifndef TILEWRIGHT_ARTIFACT_WRITER_H
#define TILEWRIGHT_ARTIFACT_WRITER_H

#include "tilewright/artifact/Executable.h"

#include <cstddef>
#include <vector>

namespace tilewright::artifact {

/// Equal executables give equal bytes. Ignores `executable.fingerprint` and computes the
/// fingerprint from the other fields. Does not call checkExecutable(); the reader always does.
std::vector<std::byte> writeExecutable(const Executable &executable);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_WRITER_H
