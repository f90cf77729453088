// The result of a compilation as one self-contained HTML page.
#ifndef TOOLS_TILEWRIGHT_REPORTPAGE_H
#define TOOLS_TILEWRIGHT_REPORTPAGE_H

#include "tilewright/driver/Compile.h"

#include <string>

namespace tilewright::tools {

struct ReportInput {
  std::string title;
  const artifact::Executable &executable;
  /// Contains remarks if the program was compiled here; empty for an executable file.
  const driver::CompileReport &report;
};

/// An HTML page that shows the kernels (with their layouts and the reasons for the compiler's
/// decisions), fusions, memory, communication, the plan and the stages.
///  - E6xxx: the communication plan of the executable cannot be read.
Result<std::string> reportPage(const ReportInput &input);

/// A summary of the report as a few lines of text.
std::string reportSummary(const ReportInput &input);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_REPORTPAGE_H
