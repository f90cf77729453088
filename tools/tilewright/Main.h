// The command line as a function, for the program and for the library that contains it.
#ifndef TOOLS_TILEWRIGHT_MAIN_H
#define TOOLS_TILEWRIGHT_MAIN_H

namespace tilewright::tools {

/// Runs `tilewright ARGUMENTS…` and returns the exit code that --help documents.
int runCommandLine(int argc, char **argv);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_MAIN_H
