// compileFile(): compiles the program in a file and shows a progress line.
#ifndef TOOLS_TILEWRIGHT_COMPILEFILE_H
#define TOOLS_TILEWRIGHT_COMPILEFILE_H

#include "tilewright/driver/Compile.h"

#include <optional>

namespace tilewright::tools {

/// Compiles the artifact or text at `path` for the number of ranks that it declares. The report
/// contains remarks if `wantsRemarks`. `mesh` and `cluster` are as in driver::CompileRequest; a
/// module that does not declare its number of partitions gets one for each rank of the mesh.
Result<artifact::Executable> compileFile(const std::string &path, const Options &options,
                                         driver::CompileReport &report, bool wantsRemarks = false,
                                         std::vector<std::pair<std::string, int64_t>> mesh = {});

/// The executable in the file at `path`; nullopt if the file holds a program.
///  - artifactUnreadable (E1101), E5001 to E5013: the file cannot be read or is damaged.
Result<std::optional<artifact::Executable>> readIfExecutable(const std::string &path,
                                                             const Options &options);

/// Reads an executable file, or compiles a program.
Result<artifact::Executable> readOrCompile(const std::string &path, const Options &options);

/// Prints a warning of the compiler to standard error.
void printWarning(const Status &warning);

/// Prints the remarks of `stage` ("all" for every stage) and their number.
void printRemarks(const std::vector<driver::Remark> &remarks, std::string_view stage);

/// "1 kernel", "2 kernels"
std::string counted(int64_t count, std::string_view noun);

/// "12 KiB"
std::string humanBytes(int64_t bytes);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_COMPILEFILE_H
