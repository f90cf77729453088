// CommTimeline: the activity of all ranks of a job on a common clock.
#ifndef TOOLS_TILEWRIGHT_PICTURES_COMMTIMELINE_H
#define TOOLS_TILEWRIGHT_PICTURES_COMMTIMELINE_H

#include "tilewright/collective/record/JobView.h"

#include <string>
#include <vector>

namespace tilewright::tools {

/// A timeline that a process wrote (trace.file), as read from a file.
struct ProcessTimeline {
  std::string path, text;
};

/// A Chrome trace, which Perfetto opens. Each rank is a row with a track for each clique that it
/// belongs to. Arrows lead from the last rank that arrived at a collective to the ranks that waited
/// for it. The processes' own timelines are in the row of their rank; a process with several ranks
/// has a row of its own.
///  - timelineForeign (E6054): a timeline does not specify its clock, or its process is not part of
///    the job.
Result<std::string> timelineOf(const collective::record::JobView &view,
                               const std::vector<ProcessTimeline> &timelines);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_COMMTIMELINE_H
