// An executable that has one of everything, for tests and fuzzers.
#ifndef TILEWRIGHT_ARTIFACT_SAMPLEEXECUTABLE_H
#define TILEWRIGHT_ARTIFACT_SAMPLEEXECUTABLE_H

#include "tilewright/artifact/Executable.h"

namespace tilewright::artifact {

/// Every kind of step, storage, attribute and option; passes checkExecutable.
/// The object is not object code.
Executable sampleExecutable();
/// The same of a GPU: a launch with a cluster and a tensor map. The object is not PTX.
Executable sampleGpuExecutable();

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_SAMPLEEXECUTABLE_H
