#include "tilewright/plugin/profile/XSpace.h"

#include "tilewright/plugin/options/ProtoWire.h"

#include <algorithm>
#include <map>

namespace tilewright::plugin {

namespace {

/// Fields of tsl/profiler/protobuf/xplane.proto.
namespace space {
constexpr uint32_t planes = 1;
}
namespace plane {
constexpr uint32_t name = 2, lines = 3, eventMetadata = 4, statMetadata = 5;
}
namespace line {
constexpr uint32_t id = 1, name = 2, timestamp = 3, events = 4;
}
namespace event {
constexpr uint32_t metadata = 1, offset = 2, duration = 3, stats = 4;
}
namespace stat {
constexpr uint32_t metadata = 1, reference = 7;
}
/// Fields of an event's and a statistic's metadata, and of the map entries that contain them.
namespace metadata {
constexpr uint32_t id = 1, name = 2, key = 1, value = 2;
}

/// Assigns ids to names; events refer to names by these ids.
class Names {
public:
  int64_t of(const std::string &name) {
    return numbers.try_emplace(name, static_cast<int64_t>(numbers.size()) + 1).first->second;
  }
  void write(ProtoWriter &plane, uint32_t field) const {
    for (const auto &[name, number] : numbers) {
      ProtoWriter one, entry;
      one.integer(metadata::id, number);
      one.bytes(metadata::name, name);
      entry.integer(metadata::key, number);
      entry.bytes(metadata::value, std::move(one).take());
      plane.bytes(field, std::move(entry).take());
    }
  }

private:
  std::map<std::string, int64_t> numbers;
};

} // namespace

std::string toXSpace(std::span<const trace::ThreadEvents> threads, int64_t toUnix) {
  constexpr int64_t picoseconds = 1000; // per nanosecond
  ProtoWriter whole;
  Names events, stats;
  const int64_t category = stats.of("category"), source = stats.of("source");
  // Viewers recognise this prefix and show the plane unchanged.
  whole.bytes(plane::name, "/device:CUSTOM:Tilewright");
  for (const trace::ThreadEvents &thread : threads) {
    int64_t first = INT64_MAX;
    for (const trace::Event &span : thread.events)
      if (span.category)
        first = std::min(first, span.begin);
    if (first == INT64_MAX)
      continue;
    ProtoWriter one;
    one.integer(line::id, thread.number);
    one.bytes(line::name, thread.name);
    one.integer(line::timestamp, first + toUnix);
    for (const trace::Event &span : thread.events) {
      if (!span.category)
        continue;
      auto statOf = [&](int64_t name, const std::string &value) {
        ProtoWriter stat;
        stat.integer(stat::metadata, name);
        stat.integer(stat::reference, stats.of(value));
        return std::move(stat).take();
      };
      ProtoWriter written;
      written.integer(event::metadata, events.of(span.name));
      written.integer(event::offset, (span.begin - first) * picoseconds);
      written.integer(event::duration, span.value * picoseconds);
      written.bytes(event::stats, statOf(category, span.category));
      if (!span.source.empty())
        written.bytes(event::stats, statOf(source, span.source));
      one.bytes(line::events, std::move(written).take());
    }
    whole.bytes(plane::lines, std::move(one).take());
  }
  events.write(whole, plane::eventMetadata);
  stats.write(whole, plane::statMetadata);
  ProtoWriter result;
  result.bytes(space::planes, std::move(whole).take());
  return std::move(result).take();
}

} // namespace tilewright::plugin
