// The kernels of an executable and their properties, for `explain kernels` and `report`.
#ifndef TOOLS_TILEWRIGHT_PICTURES_KERNELROWS_H
#define TOOLS_TILEWRIGHT_PICTURES_KERNELROWS_H

#include "tilewright/driver/Compile.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright::tools {

struct KernelRow {
  std::string name, symbol;
  std::set<std::string> places; // source lines of its launches
  int64_t launches = 0;
  std::string shape; // "4x1x1 blocks of 128 threads", "16 work items"
  int64_t sharedBytes = 0, clusterBlocks = 1, tensorMaps = 0;
  std::optional<target::KernelBudget> budget; // if an assembler was run
  std::vector<const driver::Remark *> reasons, layouts;
};

/// One row for each kernel, in the order of the executable. Points into `report`.
std::vector<KernelRow> kernelRows(const artifact::Executable &executable,
                                  const driver::CompileReport &report);

/// A table with a line for each row, followed by the remarks about that kernel.
std::string kernelTable(const artifact::Executable &executable,
                        const driver::CompileReport &report);

/// A line for each row with all resources that the kernel uses.
std::string kernelResources(const std::vector<KernelRow> &rows);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_KERNELROWS_H
