// compileFile(): from the name of a program to an executable, with a progress line.
#ifndef TOOLS_TILEWRIGHT_COMPILEFILE_H
#define TOOLS_TILEWRIGHT_COMPILEFILE_H

#include "tilewright/driver/Compile.h"

namespace tilewright::tools {

/// Compiles the artifact or text at `path`, for as many ranks as it says it is for. Remarks are in
/// the report if `wantsRemarks`. `mesh` is as in driver::CompileRequest; a module that does not say
/// how many partitions it has gets as many as the mesh has ranks.
Result<artifact::Executable> compileFile(const std::string &path, const Options &options,
                                         driver::CompileReport &report, bool wantsRemarks = false,
                                         std::vector<std::pair<std::string, int64_t>> mesh = {});

/// Prints the remarks of a stage, or of "all", and how many there are.
void printRemarks(const std::vector<driver::Remark> &remarks, std::string_view stage);

/// "12 KiB"
std::string humanBytes(int64_t bytes);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_COMPILEFILE_H
