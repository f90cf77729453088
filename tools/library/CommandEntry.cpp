// The entry point of libtilewright_pjrt.so that the program `tilewright` calls. It is private: its
// name and arguments may change with every release.
#include "tools/tilewright/Main.h"

extern "C" __attribute__((visibility("default"))) int tilewright_command_main(int argc,
                                                                              char **argv) {
  return tilewright::tools::runCommandLine(argc, argv);
}
