// Starting programs.
#ifndef TILEWRIGHT_VGPU_RUN_PROCESS_H
#define TILEWRIGHT_VGPU_RUN_PROCESS_H

#include "tilewright/support/Status.h"

#include <string>
#include <vector>

namespace tilewright::vgpu::run {

struct Ended {
  int exitCode = 0; // 128 + signal if a signal ended it, as shells say it
  int signal = 0;
  std::string errorText; // what it wrote to standard error, if that was asked for
};

/// Runs a program with this process's environment and waits for it. The program is
/// looked for on PATH. An interrupt from the keyboard is for the program to handle.
///  - vgpuStart: it cannot be started.
Result<Ended> runProgram(const std::vector<std::string> &command, bool takesErrorText = false);

/// The folder of the executable that runs.
std::string ownFolder();
/// The file of that name in the folders of PATH that can be executed and is not `except`;
/// empty if there is none.
std::string findOnPath(const std::string &name, const std::string &except = "");
bool isExecutable(const std::string &path);

} // namespace tilewright::vgpu::run

#endif // TILEWRIGHT_VGPU_RUN_PROCESS_H
