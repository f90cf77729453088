// Starts programs.
#ifndef TILEWRIGHT_VGPU_RUN_PROCESS_H
#define TILEWRIGHT_VGPU_RUN_PROCESS_H

#include "tilewright/support/Status.h"

#include <string>
#include <vector>

namespace tilewright::vgpu::run {

struct Ended {
  int exitCode = 0; // 128 + signal if a signal ended the program, as in shells
  int signal = 0;
  std::string errorText; // its standard error, if requested
};

/// Runs a program with this process's environment and waits for it. Searches PATH for the program.
/// The program handles keyboard interrupts; this process ignores them meanwhile.
///  - vgpuStart: the program cannot be started.
Result<Ended> runProgram(const std::vector<std::string> &command, bool takesErrorText = false);

/// The folder of this executable.
std::string ownFolder();
/// The executable named `name` in the folders of PATH that is not `except`; empty if there is none.
std::string findOnPath(const std::string &name, const std::string &except = "");
bool isExecutable(const std::string &path);

} // namespace tilewright::vgpu::run

#endif // TILEWRIGHT_VGPU_RUN_PROCESS_H
