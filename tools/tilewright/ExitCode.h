// Exit codes of the command line.
#ifndef TOOLS_TILEWRIGHT_EXITCODE_H
#define TOOLS_TILEWRIGHT_EXITCODE_H

#include "tilewright/support/Status.h"

#include <string>

namespace tilewright::tools {

/// Documented by --help-all; scripts rely on the values.
enum ExitCode {
  done = 0,
  otherFailure = 1,
  wrongUse = 2,
  badFile = 3,
  badArtifact = 4,
  badRun = 5,
  badProgram = 6,
  badOrder = 7
};

ExitCode exitCodeOf(const Status &status);

/// A table of the codes, one line each.
std::string exitCodeTable();

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_EXITCODE_H
