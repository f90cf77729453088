// A sample executable with every kind of item, for tests and fuzzers.
#ifndef TILEWRIGHT_ARTIFACT_TESTING_SAMPLEEXECUTABLE_H
#define TILEWRIGHT_ARTIFACT_TESTING_SAMPLEEXECUTABLE_H

#include "tilewright/artifact/Executable.h"

namespace tilewright::artifact {

/// Contains every kind of step, storage, attribute and option; passes checkExecutable. The object
/// section is not valid object code.
Executable sampleExecutable();
/// The same for a GPU: a launch with a cluster and a tensor map. The object section is not valid
/// PTX.
Executable sampleGpuExecutable();

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_TESTING_SAMPLEEXECUTABLE_H
