// An executable that has one of everything, for tests and fuzzers.
#ifndef TILEWRIGHT_ARTIFACT_SAMPLEEXECUTABLE_H
#define TILEWRIGHT_ARTIFACT_SAMPLEEXECUTABLE_H

#include "tilewright/artifact/Executable.h"

namespace tilewright::artifact {

/// Every kind of step, storage, attribute and option; passes checkExecutable.
/// The object is not object code.
Executable sampleExecutable();

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_SAMPLEEXECUTABLE_H
