// CommTimeline: what all ranks of a job did, on one clock.
#ifndef TOOLS_TILEWRIGHT_COMMTIMELINE_H
#define TOOLS_TILEWRIGHT_COMMTIMELINE_H

#include "tilewright/collective/record/JobView.h"

#include <string>
#include <vector>

namespace tilewright::tools {

/// A timeline that a process wrote of itself (trace.file), as read from a file.
struct ProcessTimeline {
  std::string path, text;
};

/// A Chrome trace, which Perfetto opens: a row for each rank with a track for each clique it is
/// in, an arrow from who came last to everybody it kept waiting, and what the processes' own
/// timelines say, in the row of the rank or, where a process has several, in one of its own.
///  - timelineForeign (E6054): a timeline does not say on which clock it is, or is of a process
///    that is not of the job.
Result<std::string> timelineOf(const collective::record::JobView &view,
                               const std::vector<ProcessTimeline> &timelines);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_COMMTIMELINE_H
