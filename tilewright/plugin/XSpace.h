// XSpace: a timeline in the form that XLA's profiler collects.
#ifndef TILEWRIGHT_PLUGIN_XSPACE_H
#define TILEWRIGHT_PLUGIN_XSPACE_H

#include "tilewright/support/Trace.h"

#include <span>
#include <string>

namespace tilewright::plugin {

/// The spans of `threads` as a serialized tensorflow.profiler.XSpace of one plane: a line for each
/// thread, an event for each span with its category. `toUnix` is what the clock of the trace lacks
/// to nanoseconds since 1970, which all profilers of a process count in. Counters have no place
/// there.
std::string toXSpace(std::span<const trace::ThreadEvents> threads, int64_t toUnix);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_XSPACE_H
