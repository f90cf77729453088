// XSpace: a timeline in the form that XLA's profiler collects.
#ifndef TILEWRIGHT_PLUGIN_PROFILE_XSPACE_H
#define TILEWRIGHT_PLUGIN_PROFILE_XSPACE_H

#include "tilewright/support/Trace.h"

#include <span>
#include <string>

namespace tilewright::plugin {

/// The spans of `threads` as a serialized tensorflow.profiler.XSpace of one plane: a line for each
/// thread, and for each span an event with its category. `toUnix` is added to trace times to get
/// nanoseconds since 1970, which the other profilers of the process use. Counters are omitted.
std::string toXSpace(std::span<const trace::ThreadEvents> threads, int64_t toUnix);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_PROFILE_XSPACE_H
