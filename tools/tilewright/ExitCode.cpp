#include "tools/tilewright/ExitCode.h"

namespace tilewright::tools {

ExitCode exitCodeOf(const Status &status) {
  if (status.isOk())
    return done;
  if (!status.error())
    return otherFailure;
  switch (*status.error()) {
  // A missing file, whichever component opened it.
  case Error::fileUnreadable:
  case Error::fileUnwritable:
  case Error::npyMalformed:
  case Error::textMalformed:
  case Error::artifactUnreadable:
  case Error::recorderFile:
  case Error::recordingsMissing:
  case Error::recordingDamaged:
    return badFile;
  default:
    break;
  }
  const std::string_view stage = stageOf(*status.error());
  if (stage == "tools")
    return wrongUse;
  if (stage == "import")
    return badArtifact;
  if (stage == "transform" || stage == "target")
    return badProgram;
  if (stage == "collective")
    return badOrder;
  return stage == "interpret" || stage == "runtime" ? badRun : otherFailure;
}

std::string exitCodeTable() {
  return "  0  done\n"
         "  1  a failure without a code of its own\n"
         "  2  usage error: a flag, an option or an input is not valid\n"
         "  3  a file is missing, or could not be read, understood or written\n"
         "  4  the artifact was refused (E1…)\n"
         "  5  the program could not be run, or one of its checks failed (E3…, E5…)\n"
         "  6  the program could not be compiled (E2…, E4…)\n"
         "  7  its ranks deadlock or could, or do not match each other (E6…)\n";
}

} // namespace tilewright::tools
