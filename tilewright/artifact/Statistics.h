// Statistics: what an executable tells about itself, by name, for tools and frameworks.
#ifndef TILEWRIGHT_ARTIFACT_STATISTICS_H
#define TILEWRIGHT_ARTIFACT_STATISTICS_H

#include "tilewright/artifact/Executable.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::artifact {

/// Adds one number: "flops", "bytes accessed", and of one kind of op "flops of dot_general".
void addStatistic(Executable &executable, std::string name, double value);
/// Adds a list, such as those that MemoryTimeline reads.
void addStatistic(Executable &executable, std::string name, std::span<const int64_t> values);

/// The number of a statistic, if it is one.
std::optional<double> numberOf(const Attribute &statistic);
/// The number, or nothing if the executable has none of this name.
std::optional<double> statistic(const Executable &executable, std::string_view name);
/// The list, empty if the executable has none of this name.
std::vector<int64_t> statisticList(const Executable &executable, std::string_view name);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_STATISTICS_H
