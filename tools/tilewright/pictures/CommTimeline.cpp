#include "tools/tilewright/pictures/CommTimeline.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Json.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <limits>

namespace tilewright::tools {
namespace {

using namespace collective::record;
using Visit = JobView::Visit;

/// A Chrome trace numbers processes and threads. These ranges separate the rows of processes and
/// the tracks of cliques from the numbers that the timelines already use.
constexpr int64_t firstProcessRow = 1'000'000, firstCliqueTrack = 1'000'000;

class Timeline {
public:
  explicit Timeline(const JobView &view) : view(view) {
    for (const Visit &visit : view.visits()) {
      zero = std::min(zero, visit.begin);
      end = std::max({end, visit.begin, visit.end});
    }
  }

  Status add(const ProcessTimeline &timeline) {
    llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(timeline.text);
    if (!parsed)
      return foreign(timeline, concat("is not JSON: ", llvm::toString(parsed.takeError())));
    llvm::json::Object *root = parsed->getAsObject();
    llvm::json::Object *other = root ? root->getObject("otherData") : nullptr;
    llvm::json::Array *events = root ? root->getArray("traceEvents") : nullptr;
    const auto monotonic = other ? other->getInteger("monotonicZero") : std::nullopt,
               pid = other ? other->getInteger("pid") : std::nullopt;
    const auto boot = other ? other->getString("boot") : std::nullopt;
    if (!events || !monotonic || !pid || !boot)
      return foreign(timeline, "does not specify its clock");
    const Recording *recording = nullptr;
    for (const Recording &each : view.recordings())
      if (each.pid == static_cast<uint64_t>(*pid) && each.boot == boot->str())
        recording = &each;
    if (!recording)
      return foreign(timeline, concat("was written by process ", *pid, ", which is not one of the ",
                                      view.recordings().size(), " processes of job ",
                                      view.recordings().front().job));
    Source source{recording, view.commonOf(*recording, *monotonic), std::move(*parsed)};
    for (const llvm::json::Value &event : *source.root.getAsObject()->getArray("traceEvents"))
      if (const auto *object = event.getAsObject(); object && object->getNumber("ts"))
        zero = std::min(zero, source.zero + nanosecondsOf(*object, "ts"));
    sources.push_back(std::move(source));
    return Status();
  }

  std::string write() {
    json.open('{').key("displayTimeUnit").text("ns").key("otherData").open('{');
    json.key("job").text(view.recordings().front().job);
    json.key("clockBoundNanoseconds").open('{');
    for (const HostClock &clock : view.clocks())
      json.key(clock.host).number(clock.bound);
    json.close('}').close('}').key("traceEvents").open('[');
    for (const auto &[rank, seen] : view.ranks())
      name("process_name", rowOf(rank), 0,
           concat("rank ", rank, ": process ", seen.recording->process, " on ",
                  seen.recording->host, ", pid ", seen.recording->pid));
    for (const Source &source : sources)
      writeSource(source);
    placeVisits();
    view.forEachCollective([&](std::span<const Visit> visits) { writeCollective(visits); });
    json.line().close(']').close('}').line();
    return std::move(json).take();
  }

private:
  struct Source {
    const Recording *recording = nullptr;
    int64_t zero = 0; // the trace's time 0 on the common clock
    llvm::json::Value root;
  };

  static Status foreign(const ProcessTimeline &timeline, const std::string &why) {
    return Status(Error::timelineForeign,
                  concat(timeline.path, " ", why,
                         "; pass timelines that processes of the job wrote with trace.file"));
  }
  static int64_t nanosecondsOf(const llvm::json::Object &event, llvm::StringRef key) {
    const double value = event.getNumber(key).value_or(0) * 1000;
    return static_cast<int64_t>(std::clamp(value + 0.5, 0.0, 9e17));
  }
  static int64_t rowOf(int64_t rank) { return rank + 1; }

  void name(std::string_view what, int64_t row, int64_t track, const std::string &text) {
    json.line().open('{').key("name").text(what).key("ph").text("M");
    json.key("pid").number(row).key("tid").number(track);
    json.key("args").open('{').key("name").text(text).close('}').close('}');
  }

  void writeSource(const Source &source) {
    const std::vector<RecordedRank> &ranks = source.recording->ranks;
    int64_t row = firstProcessRow + source.recording->process;
    if (ranks.size() == 1) {
      row = rowOf(ranks[0].rank);
    } else {
      std::vector<int64_t> numbers;
      for (const RecordedRank &rank : ranks)
        numbers.push_back(rank.rank);
      name("process_name", row, 0,
           concat("process ", source.recording->process, " of ranks ", listed(numbers)));
    }
    for (const llvm::json::Value &event : *source.root.getAsObject()->getArray("traceEvents")) {
      const llvm::json::Object *from = event.getAsObject();
      if (!from || from->getString("name") == "process_name")
        continue;
      llvm::json::Object copy = *from;
      copy["pid"] = row;
      copy.erase("ts");
      copy.erase("dur");
      std::string text;
      llvm::raw_string_ostream(text) << llvm::json::Value(std::move(copy));
      text.pop_back(); // the closing bracket, since more follows
      json.line().raw(text);
      if (from->getNumber("ts"))
        json.key("ts").microseconds(source.zero + nanosecondsOf(*from, "ts") - zero);
      if (from->getNumber("dur"))
        json.key("dur").microseconds(nanosecondsOf(*from, "dur"));
      json.close('}');
    }
  }

  int64_t endOf(const Visit &visit) const {
    return visit.end ? visit.end : std::max(end, visit.begin);
  }

  /// Collectives of a clique overlap if a rank starts one before it has finished another. Slices of
  /// one track must not overlap, so such a clique gets several tracks.
  void placeVisits() {
    std::map<std::pair<int64_t, uint32_t>, std::vector<const Visit *>> byTrack;
    for (const Visit &visit : view.visits())
      byTrack[{visit.rank, visit.clique}].push_back(&visit);
    std::map<int64_t, int64_t> next; // next free track number, by rank
    for (auto &[key, visits] : byTrack) {
      std::sort(visits.begin(), visits.end(),
                [](const Visit *a, const Visit *b) { return a->begin < b->begin; });
      std::vector<std::pair<int64_t, int64_t>> tracks; // number, and when it is free
      for (const Visit *visit : visits) {
        auto free = std::find_if(tracks.begin(), tracks.end(),
                                 [&](const auto &track) { return track.second <= visit->begin; });
        if (free == tracks.end()) {
          const int64_t number = firstCliqueTrack + next[key.first]++;
          tracks.emplace_back(number, 0);
          free = tracks.end() - 1;
          const JobView::Clique &clique = view.cliques()[key.second];
          const std::string members = clique.members.size() <= 16
                                          ? listed(clique.members)
                                          : concat("of ", clique.members.size(),
                                                   " ranks from rank ", clique.members.front());
          name("thread_name", rowOf(key.first), number,
               concat("clique ", members, ", engine ", clique.engine,
                      tracks.size() > 1 ? concat(", track ", tracks.size()) : std::string()));
        }
        free->second = endOf(*visit);
        trackOf[visit] = free->first;
      }
    }
  }

  void begin(std::string_view phase, std::string_view title, const Visit &visit, int64_t at) {
    json.line().open('{').key("name").text(title).key("cat").text("collective");
    json.key("ph").text(phase).key("pid").number(rowOf(visit.rank));
    json.key("tid").number(trackOf.at(&visit)).key("ts").microseconds(at - zero);
  }

  void writeCollective(std::span<const Visit> visits) {
    constexpr std::string_view states[] = {"none", "started", "waits", "done", "failed"};
    const Visit *last = &visits[0];
    for (const Visit &visit : visits) {
      if (visit.begin > last->begin)
        last = &visit;
      begin("X", visit.site->name, visit, visit.begin);
      json.key("dur").microseconds(endOf(visit) - visit.begin).key("args").open('{');
      json.key("place").text(visit.site->place);
      json.key("kind").text(numerics::nameOf(visit.site->kind));
      json.key("bytes").number(visit.site->bytes);
      json.key("run").number(visit.entry->run).key("collective").number(visit.entry->sequence);
      json.key("state").text(states[static_cast<size_t>(visit.entry->state)]);
      json.close('}').close('}');
    }
    for (const Visit &visit : visits) {
      if (&visit == last || visit.entry->state != State::done)
        continue;
      ++arrows;
      begin("s", "waited for", *last, last->begin);
      json.key("id").number(arrows).close('}');
      // The arrow ends inside the slice, but not before the arrow's start.
      begin("f", "waited for", visit, std::max(last->begin, visit.end - 1));
      json.key("id").number(arrows).key("bp").text("e").close('}');
    }
  }

  const JobView &view;
  std::vector<Source> sources;
  int64_t zero = std::numeric_limits<int64_t>::max(), end = 0;
  std::map<const Visit *, int64_t> trackOf;
  uint64_t arrows = 0;
  JsonWriter json;
};

} // namespace

Result<std::string> timelineOf(const JobView &view, const std::vector<ProcessTimeline> &timelines) {
  Timeline timeline(view);
  for (const ProcessTimeline &each : timelines)
    TILEWRIGHT_TRY(timeline.add(each));
  return timeline.write();
}

} // namespace tilewright::tools
