#include "tilewright/collective/record/RecordedEngine.h"

#include <algorithm>
#include <cstring>

namespace tilewright::collective::record {

/// Caches the call site of each call. Programs repeat their calls in the same order, so a lookup
/// first tries the call that followed the current one last time.
class RecordedEngine::Calls {
public:
  bool isFor(const RunMembership &own) const {
    return own.rank == rank && own.ranks == ranks && own.members == members;
  }
  /// Drops the cache if the membership has changed, because a call's clique depends on it.
  void resetFor(const RunMembership &own) {
    if (isFor(own))
      return;
    rank = own.rank;
    ranks = own.ranks;
    members = own.members;
    cached.clear();
    last = nullptr;
  }

  /// Returns null if the call is not in the cache.
  const Recorder::CallSite *find(const Call &call) {
    if (last && last->next && last->next->isFor(call))
      return &(last = last->next)->callSite;
    for (CachedCall &each : cached)
      if (each.isFor(call)) {
        if (last)
          last->next = &each;
        return &(last = &each)->callSite;
      }
    return nullptr;
  }

  const Recorder::CallSite &add(const Call &call, Recorder::CallSite callSite) {
    // Bounds memory if a program keeps making new calls.
    constexpr size_t maxCached = 1024;
    if (cached.size() == maxCached) {
      cached.clear();
      last = nullptr;
    }
    CachedCall &fresh = cached.emplace_back();
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
    fresh.callSite = callSite;
    if (last)
      last->next = &fresh;
    return (last = &fresh)->callSite;
  }

private:
  struct CachedCall {
    /// Whether the call equals this one. Compares contents, not pointers, because the memory of an
    /// unloaded program may have been reused. Avoids branches, because this runs on each call.
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
        // The last word may overlap the previous one.
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
    std::vector<size_t> groups; // number of ranks of each group
    std::vector<int64_t> flat;  // the ranks of all groups
    size_t tensors = 0;
    ElementType element = ElementType::f32;
    std::vector<int64_t> dims;
    Recorder::CallSite callSite;
    CachedCall *next = nullptr; // the call that followed this one last time
  };
  std::deque<CachedCall> cached;
  CachedCall *last = nullptr;
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
  RecordedRank(std::unique_ptr<Communicator> inner, RunMembership own, Track &track,
               std::shared_ptr<RecordedEngine::Shared> shared, std::unique_ptr<Calls> calls)
      : shared(std::move(shared)), inner(std::move(inner)), own(std::move(own)), track(track),
        calls(std::move(calls)) {}

  ~RecordedRank() override {
    for (auto [ticket, number] : open)
      track.end(number, /*isWell=*/false);
    if (!open.empty())
      track.explain("it left the run while its collectives were in progress");
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
  /// Records the start of a collective and returns its entry. Empty if the rank does not
  /// participate, or if the call is invalid, which the engine reports.
  std::optional<uint64_t> begin(const Call &call, State state) {
    const Recorder::CallSite *callSite = calls->find(call);
    if (!callSite) {
      Result<std::optional<Clique>> clique = cliqueOf(call, own.rank, own.ranks);
      if (!clique.isOk() || !*clique)
        return std::nullopt;
      if (!own.members.empty())
        for (int64_t &member : **clique)
          member = own.members[static_cast<size_t>(member)];
      callSite =
          &calls->add(call, shared->recorder->callSiteOf(track, call, **clique, shared->name));
    }
    return track.begin(callSite->site, *callSite->progress, static_cast<uint32_t>(own.run), state);
  }

  Status end(uint64_t number, Status status) {
    track.end(number, status.isOk());
    if (!status.isOk())
      track.explain(status.message());
    return status;
  }

  const std::shared_ptr<RecordedEngine::Shared> shared;
  std::unique_ptr<Communicator> inner;
  const RunMembership own;
  Track &track;
  std::unique_ptr<Calls> calls;
  std::vector<std::pair<Ticket, uint64_t>> open; // started collectives, with their entry numbers
};

} // namespace

Result<std::unique_ptr<Communicator>> RecordedEngine::join(const RunMembership &own) {
  TILEWRIGHT_ASSIGN(std::unique_ptr<Communicator> inner, engine->join(own));
  const int64_t rank = own.members.empty() ? own.rank : own.members[static_cast<size_t>(own.rank)];
  Track *track = shared->recorder->trackOf(rank);
  if (!track)
    return inner;
  std::unique_ptr<Calls> calls;
  {
    std::lock_guard lock(shared->mutex);
    std::vector<std::unique_ptr<Calls>> &idle = shared->idle[rank];
    if (!idle.empty()) {
      // Prefer a cache for the same membership.
      auto found = std::find_if(idle.begin(), idle.end(),
                                [&](const auto &each) { return each->isFor(own); });
      found = found == idle.end() ? idle.end() - 1 : found;
      calls = std::move(*found);
      idle.erase(found);
    }
  }
  if (!calls)
    calls = std::make_unique<Calls>();
  calls->resetFor(own);
  return std::unique_ptr<Communicator>(
      std::make_unique<RecordedRank>(std::move(inner), own, *track, shared, std::move(calls)));
}

} // namespace tilewright::collective::record
