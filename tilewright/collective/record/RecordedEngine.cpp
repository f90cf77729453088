#include "tilewright/collective/record/RecordedEngine.h"

#include <algorithm>

namespace tilewright::collective::record {

/// Finds the place of a call without looking at more than it has to: programs make their calls in
/// the same order again and again, so the one that followed last time is tried first.
class RecordedEngine::Calls {
public:
  /// Null if it is not known.
  const Recorder::Place *find(const Call &call, const Seat &seat) {
    if (last && last->next && last->next->isFor(call, seat))
      return &(last = last->next)->place;
    for (Known &each : known)
      if (each.isFor(call, seat)) {
        if (last)
          last->next = &each;
        return &(last = &each)->place;
      }
    return nullptr;
  }

  const Recorder::Place &add(const Call &call, const Seat &seat, Recorder::Place place) {
    // Whoever makes new calls for ever does not fill the memory.
    constexpr size_t most = 1024;
    if (known.size() == most) {
      known.clear();
      last = nullptr;
    }
    Known &fresh = known.emplace_back();
    fresh.kind = call.kind;
    fresh.order = call.order;
    fresh.name = call.name;
    fresh.where = call.place;
    fresh.groups = *call.groups;
    fresh.tensors = call.tensors.size();
    if (!call.tensors.empty()) {
      fresh.element = call.tensors[0].element;
      fresh.dims = call.tensors[0].inDims;
    }
    fresh.ranks = seat.ranks;
    fresh.rank = seat.rank;
    fresh.members = seat.members;
    fresh.place = place;
    if (last)
      last->next = &fresh;
    return (last = &fresh)->place;
  }

private:
  struct Known {
    bool isFor(const Call &call, const Seat &seat) const {
      return kind == call.kind && order == call.order && tensors == call.tensors.size() &&
             rank == seat.rank && ranks == seat.ranks && isEqual(name, call.name) &&
             isEqual(where, call.place) &&
             (tensors == 0 ||
              (element == call.tensors[0].element && isEqual(dims, call.tensors[0].inDims))) &&
             isSame(*call.groups) && isEqual(members, seat.members);
    }
    /// Lists are short here, so comparing them in place is less than a call.
    template <typename A, typename B> static bool isEqual(const A &a, const B &b) {
      if (a.size() != b.size())
        return false;
      for (size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i])
          return false;
      return true;
    }
    bool isSame(const std::vector<std::vector<int64_t>> &others) const {
      if (groups.size() != others.size())
        return false;
      for (size_t i = 0; i < groups.size(); ++i)
        if (!isEqual(groups[i], others[i]))
          return false;
      return true;
    }
    Kind kind = Kind::allReduce;
    uint32_t order = 0;
    std::string name, where;
    std::vector<std::vector<int64_t>> groups;
    size_t tensors = 0;
    ElementType element = ElementType::f32;
    std::vector<int64_t> dims;
    int64_t ranks = 0, rank = 0;
    std::vector<int64_t> members;
    Recorder::Place place;
    Known *next = nullptr; // the one that came after it
  };
  std::deque<Known> known;
  Known *last = nullptr;
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
    const Recorder::Place *place = calls->find(call, seat);
    if (!place) {
      Result<std::optional<Clique>> clique = cliqueOf(call, seat.rank, seat.ranks);
      if (!clique.isOk() || !*clique)
        return std::nullopt;
      if (!seat.members.empty())
        for (int64_t &member : **clique)
          member = seat.members[static_cast<size_t>(member)];
      place =
          &calls->add(call, seat, shared->recorder->placeOf(track, call, **clique, shared->name));
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
      calls = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (!calls)
    calls = std::make_unique<Calls>();
  return std::unique_ptr<Communicator>(
      std::make_unique<RecordedRank>(std::move(inner), seat, *track, shared, std::move(calls)));
}

} // namespace tilewright::collective::record
