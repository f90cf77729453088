#include "tilewright/collective/record/RecordedEngine.h"

#include <algorithm>
#include <cstring>

namespace tilewright::collective::record {

/// Finds the place of a call without looking at more than it has to: programs make their calls in
/// the same order again and again, so the one that followed last time is tried first.
class RecordedEngine::Calls {
public:
  bool isAt(const Seat &seat) const {
    return seat.rank == rank && seat.ranks == ranks && seat.members == members;
  }
  /// Forgets what was for another place in a run: who takes part in a call depends on it.
  void sit(const Seat &seat) {
    if (isAt(seat))
      return;
    rank = seat.rank;
    ranks = seat.ranks;
    members = seat.members;
    known.clear();
    last = nullptr;
  }

  /// Null if it is not known.
  const Recorder::Place *find(const Call &call) {
    if (last && last->next && last->next->isFor(call))
      return &(last = last->next)->place;
    for (Known &each : known)
      if (each.isFor(call)) {
        if (last)
          last->next = &each;
        return &(last = &each)->place;
      }
    return nullptr;
  }

  const Recorder::Place &add(const Call &call, Recorder::Place place) {
    // Whoever makes new calls for ever does not fill the memory.
    constexpr size_t most = 1024;
    if (known.size() == most) {
      known.clear();
      last = nullptr;
    }
    Known &fresh = known.emplace_back();
    fresh.identity = call.identity;
    fresh.kind = call.kind;
    fresh.order = call.order;
    fresh.name = call.name;
    fresh.where = call.place;
    for (const std::vector<int64_t> &group : *call.groups) {
      fresh.groups.push_back(group.size());
      fresh.flat.insert(fresh.flat.end(), group.begin(), group.end());
    }
    fresh.tensors = call.tensors.size();
    if (!call.tensors.empty()) {
      fresh.element = call.tensors[0].element;
      fresh.dims = call.tensors[0].inDims;
    }
    fresh.place = place;
    if (last)
      last->next = &fresh;
    return (last = &fresh)->place;
  }

private:
  struct Known {
    /// Looks at all of it, because memory of a program that was unloaded may be another's now; and
    /// branches as little as it can, because this is done for each call.
    bool isFor(const Call &call) const {
      if (call.identity)
        return call.identity == identity;
      if (identity || order != call.order || kind != call.kind || tensors != call.tensors.size() ||
          groups.size() != call.groups->size() || name.size() != call.name.size() ||
          where.size() != call.place.size())
        return false;
      uint64_t difference = differenceOf(name.data(), call.name.data(), name.size()) |
                            differenceOf(where.data(), call.place.data(), where.size());
      if (tensors) {
        const Tensor &tensor = call.tensors[0];
        if (element != tensor.element || dims.size() != tensor.inDims.size())
          return false;
        for (size_t i = 0; i < dims.size(); ++i)
          difference |= static_cast<uint64_t>(dims[i] ^ tensor.inDims[i]);
      }
      const int64_t *mine = flat.data();
      for (size_t i = 0; i < groups.size(); ++i) {
        const std::vector<int64_t> &theirs = (*call.groups)[i];
        if (groups[i] != theirs.size())
          return false;
        for (int64_t rank : theirs)
          difference |= static_cast<uint64_t>(*mine++ ^ rank);
      }
      return difference == 0;
    }
    static uint64_t differenceOf(const char *a, const char *b, size_t size) {
      uint64_t difference = 0;
      if (size >= 8) {
        // The last word may overlap the one before.
        for (size_t at = 0; at + 8 < size; at += 8)
          difference |= word(a + at) ^ word(b + at);
        return difference | (word(a + size - 8) ^ word(b + size - 8));
      }
      for (size_t at = 0; at < size; ++at)
        difference |= static_cast<uint64_t>(a[at] != b[at]);
      return difference;
    }
    static uint64_t word(const char *bytes) {
      uint64_t value;
      std::memcpy(&value, bytes, sizeof value);
      return value;
    }
    Kind kind = Kind::allReduce;
    uint64_t identity = 0;
    uint32_t order = 0;
    std::string name, where;
    std::vector<size_t> groups; // how many ranks each has
    std::vector<int64_t> flat;  // all of them
    size_t tensors = 0;
    ElementType element = ElementType::f32;
    std::vector<int64_t> dims;
    Recorder::Place place;
    Known *next = nullptr; // the one that came after it
  };
  std::deque<Known> known;
  Known *last = nullptr;
  int64_t rank = -1, ranks = 0;
  std::vector<int64_t> members;
};

RecordedEngine::Shared::Shared() = default;
RecordedEngine::Shared::~Shared() = default;

RecordedEngine::RecordedEngine(std::unique_ptr<Engine> engine, std::shared_ptr<Recorder> recorder,
                               std::string name)
    : engine(std::move(engine)), shared(std::make_shared<Shared>()) {
  shared->recorder = std::move(recorder);
  shared->name = std::move(name);
}

namespace {

class RecordedRank final : public Communicator {
public:
  using Calls = RecordedEngine::Calls;
  RecordedRank(std::unique_ptr<Communicator> inner, Seat seat, Track &track,
               std::shared_ptr<RecordedEngine::Shared> shared, std::unique_ptr<Calls> calls)
      : shared(std::move(shared)), inner(std::move(inner)), seat(std::move(seat)), track(track),
        calls(std::move(calls)) {}

  ~RecordedRank() override {
    for (auto [ticket, number] : open)
      track.end(number, /*isWell=*/false);
    if (!open.empty())
      track.explain("it left the run with collectives under way");
    inner.reset();
    std::lock_guard lock(shared->mutex);
    shared->idle[track.rank()].push_back(std::move(calls));
  }

  int64_t rank() const override { return inner->rank(); }
  int64_t size() const override { return inner->size(); }

  Result<Ticket> start(const Call &call) override {
    const std::optional<uint64_t> number = begin(call, State::started);
    Result<Ticket> ticket = inner->start(call);
    if (!number)
      return ticket;
    if (ticket.isOk()) {
      open.emplace_back(*ticket, *number);
      return ticket;
    }
    return end(*number, std::move(ticket).takeStatus());
  }

  Status finish(Ticket ticket) override {
    const auto found = std::find_if(open.begin(), open.end(),
                                    [&](const auto &one) { return one.first == ticket; });
    if (found == open.end())
      return inner->finish(ticket);
    const uint64_t number = found->second;
    open.erase(found);
    track.wait(number);
    return end(number, inner->finish(ticket));
  }

  Status run(const Call &call) override {
    const std::optional<uint64_t> number = begin(call, State::waits);
    if (!number)
      return inner->run(call);
    return end(*number, inner->run(call));
  }

  void abandon(const Status &why) override {
    for (auto [ticket, number] : open)
      track.end(number, /*isWell=*/false);
    open.clear();
    track.explain(why.message());
    inner->abandon(why);
  }

private:
  /// Nothing for a call that the rank takes no part in, or that is wrong: the engine says so.
  std::optional<uint64_t> begin(const Call &call, State state) {
    const Recorder::Place *place = calls->find(call);
    if (!place) {
      Result<std::optional<Clique>> clique = cliqueOf(call, seat.rank, seat.ranks);
      if (!clique.isOk() || !*clique)
        return std::nullopt;
      if (!seat.members.empty())
        for (int64_t &member : **clique)
          member = seat.members[static_cast<size_t>(member)];
      place = &calls->add(call, shared->recorder->placeOf(track, call, **clique, shared->name));
    }
    return track.begin(place->site, *place->lane, static_cast<uint32_t>(seat.run), state);
  }

  Status end(uint64_t number, Status status) {
    track.end(number, status.isOk());
    if (!status.isOk())
      track.explain(status.message());
    return status;
  }

  const std::shared_ptr<RecordedEngine::Shared> shared;
  std::unique_ptr<Communicator> inner;
  const Seat seat;
  Track &track;
  std::unique_ptr<Calls> calls;
  std::vector<std::pair<Ticket, uint64_t>> open; // started, with the number of the entry
};

} // namespace

Result<std::unique_ptr<Communicator>> RecordedEngine::join(const Seat &seat) {
  TILEWRIGHT_ASSIGN(std::unique_ptr<Communicator> inner, engine->join(seat));
  const int64_t rank =
      seat.members.empty() ? seat.rank : seat.members[static_cast<size_t>(seat.rank)];
  Track *track = shared->recorder->trackOf(rank);
  if (!track)
    return inner;
  std::unique_ptr<Calls> calls;
  {
    std::lock_guard lock(shared->mutex);
    std::vector<std::unique_ptr<Calls>> &idle = shared->idle[rank];
    if (!idle.empty()) {
      // Those of the same place in a run, if there are such.
      auto found = std::find_if(idle.begin(), idle.end(),
                                [&](const auto &each) { return each->isAt(seat); });
      found = found == idle.end() ? idle.end() - 1 : found;
      calls = std::move(*found);
      idle.erase(found);
    }
  }
  if (!calls)
    calls = std::make_unique<Calls>();
  calls->sit(seat);
  return std::unique_ptr<Communicator>(
      std::make_unique<RecordedRank>(std::move(inner), seat, *track, shared, std::move(calls)));
}

} // namespace tilewright::collective::record
