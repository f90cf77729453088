// Statistics: named values in an executable, for tools and frameworks.
#ifndef TILEWRIGHT_ARTIFACT_STATISTICS_H
#define TILEWRIGHT_ARTIFACT_STATISTICS_H

#include "tilewright/artifact/Executable.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::artifact {

/// Adds a number, such as "flops", "bytes accessed" or, for one kind of op, "flops of dot_general".
void addStatistic(Executable &executable, std::string name, double value);
/// Adds a list of integers, such as those that MemoryTimeline reads.
void addStatistic(Executable &executable, std::string name, std::span<const int64_t> values);

/// The value of a statistic if it is a number.
std::optional<double> numberOf(const Attribute &statistic);
/// The value; empty if the executable has no number of this name.
std::optional<double> statistic(const Executable &executable, std::string_view name);
/// The list; empty if the executable has no list of this name.
std::vector<int64_t> statisticList(const Executable &executable, std::string_view name);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_STATISTICS_H
