#include "tilewright/collective/nccl/Job.h"
#include "tilewright/collective/Clique.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <sstream>

namespace tilewright::collective::nccl {

Job::Job(const Library &library, Membership membership, KeyValueStore &store, DeviceAccess &access,
         NcclEngine::Options options)
    : nccl(library), membership(std::move(membership)), store(store), access(access),
      options(std::move(options)) {
  for (int64_t rank : this->membership.ranksOf(this->membership.process))
    ranks.push_back(std::make_unique<LocalRank>(nccl, access, failure, rank));
}

Job::~Job() {
  for (const auto &rank : ranks)
    rank->finalize();
  const Deadline deadline = after(std::chrono::seconds(3));
  for (const auto &rank : ranks)
    rank->destroy(deadline);
}

LocalRank *Job::localRank(int64_t rank) {
  for (const auto &local : ranks)
    if (local->rank() == rank)
      return local.get();
  return nullptr;
}

void Job::fail(const std::string &why) {
  (void)failure.set(why);
  // A thread with an open group holds the lock of its rank and must not wait for other ranks: they
  // may have failed in a group, too. When its group ends, endGroup() fails and calls this function
  // again.
  for (const auto &rank : ranks)
    if (rank->hasGroup())
      return;
  std::lock_guard lock(grouping);
  for (const auto &rank : ranks)
    rank->revoke();
}

abi::ncclConfig_t Job::config() const {
  abi::ncclConfig_t config;
  config.blocking = 0;
  if (options.minChannels > 0)
    config.minCTAs = options.minChannels;
  if (options.maxChannels > 0)
    config.maxCTAs = options.maxChannels;
  config.splitShare = options.sharesResources ? 1 : 0;
  if (options.ctaPolicy)
    config.CTAPolicy = *options.ctaPolicy;
  return config;
}

std::string Job::keyOf(const Program &program) const {
  return concat(membership.job, "/nccl/", membership.epoch, "/", hashOf(program.members, 0));
}

Result<Job::Comms> Job::makeAll(const Program &program, const Making &making, Deadline deadline) {
  Comms comms(program.locals.size());
  std::vector<Comm *> waitFor;
  Status status;
  {
    // Between the start and the end of the group, no abort may free a communicator.
    std::lock_guard lock(grouping);
    TILEWRIGHT_TRY(nccl.check(nccl.GroupStart(), "GroupStart"));
    for (size_t i = 0; i < comms.size() && status.isOk(); ++i) {
      LocalRank &rank = *localRank(program.memberOf(i));
      status = rank.makeCurrent();
      if (!status.isOk())
        break;
      Comm *parent = making.parents.empty() ? nullptr : making.parents[i];
      auto made =
          rank.make(making.function, parent, [&](abi::ncclComm_t from, abi::ncclComm_t *into) {
            return making.make(i, from, into);
          });
      if (!made.isOk()) {
        status = std::move(made).takeStatus();
        break;
      }
      comms[i] = making.hasMember(i) ? *made : nullptr;
    }
    const abi::ncclResult_t end = nccl.GroupEnd();
    if (status.isOk() && end != abi::ncclInProgress)
      status = nccl.check(end, "GroupEnd");
  }
  // NCCL writes a child's handle once its parent is done.
  for (size_t i = 0; i < comms.size() && status.isOk(); ++i) {
    Comm *const parent = making.parents.empty() ? nullptr : making.parents[i];
    for (Comm *comm : {parent, comms[i]})
      if (comm && status.isOk())
        status = localRank(program.memberOf(i))->settle(making.function, {&comm, 1}, deadline);
  }
  if (!status.isOk())
    return status;
  return comms;
}

static std::string textOf(const abi::ncclUniqueId &id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (char each : id.internal) {
    text += digits[static_cast<unsigned char>(each) >> 4];
    text += digits[each & 15];
  }
  return text;
}

static std::optional<abi::ncclUniqueId> idOf(const std::string &text) {
  abi::ncclUniqueId id;
  if (text.size() != 2 * sizeof(id.internal))
    return std::nullopt;
  for (size_t i = 0; i < sizeof(id.internal); ++i) {
    unsigned value = 0;
    const char *const at = text.data() + 2 * i;
    if (std::from_chars(at, at + 2, value, 16).ptr != at + 2)
      return std::nullopt;
    id.internal[i] = static_cast<char>(value);
  }
  return id;
}

Result<std::vector<abi::ncclUniqueId>> Job::uniqueIds(const Program &program, Deadline deadline) {
  const int64_t size = static_cast<int64_t>(program.members.size());
  const int64_t count = (size + options.ranksPerId - 1) / options.ranksPerId;
  std::vector<abi::ncclUniqueId> ids(static_cast<size_t>(count));
  for (const bool isMine : {true, false}) // publish before waiting
    for (int64_t i = 0; i < count; ++i) {
      const int64_t owner = membership.processOfRank[static_cast<size_t>(
          program.members[static_cast<size_t>(i * size / count)])];
      const std::string key = concat(keyOf(program), "/id/", i);
      abi::ncclUniqueId &id = ids[static_cast<size_t>(i)];
      if ((owner == membership.process) != isMine)
        continue;
      if (isMine) {
        TILEWRIGHT_TRY(nccl.check(nccl.GetUniqueId(&id), "GetUniqueId"));
        TILEWRIGHT_TRY(store.put(key, textOf(id)));
        continue;
      }
      // Wait in steps, so that revoke() can end the wait.
      std::optional<std::string> text;
      while (!text) {
        if (failure.isSet())
          return ranks.front()->failed();
        if (std::chrono::steady_clock::now() >= deadline)
          return Status(Error::collectiveStuck,
                        concat("process ", owner, " did not publish NCCL's unique id"));
        TILEWRIGHT_ASSIGN(text, store.tryGet(key));
        if (!text)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      const std::optional<abi::ncclUniqueId> read = idOf(*text);
      if (!read)
        return Status(Error::ranksNotConnected,
                      concat("the key-value store has '", *text, "' under '", key,
                             "', which is not a unique id of NCCL"));
      id = *read;
    }
  return ids;
}

Status Job::initialize(Program &program, Deadline deadline) {
  TILEWRIGHT_ASSIGN(std::vector<abi::ncclUniqueId> ids, uniqueIds(program, deadline));
  abi::ncclConfig_t wanted = config();
  const int size = static_cast<int>(program.members.size());
  Making making;
  making.function = ids.size() == 1 ? "CommInitRankConfig" : "CommInitRankScalable";
  making.make = [&](size_t i, abi::ncclComm_t, abi::ncclComm_t *into) {
    const int rank = static_cast<int>(program.locals[i]);
    return ids.size() == 1
               ? nccl.CommInitRankConfig(into, size, ids[0], rank, &wanted)
               : nccl.CommInitRankScalable(into, size, rank, static_cast<int>(ids.size()),
                                           ids.data(), &wanted);
  };
  TILEWRIGHT_ASSIGN(program.parents, makeAll(program, making, deadline));
  return Status();
}

Result<const Job::Comms *> Job::split(Program &program, uint8_t lane, const Groups &groups,
                                      Deadline deadline) {
  auto [entry, isNew] = program.splits.try_emplace({lane, groups});
  if (!isNew)
    return &entry->second;
  struct Place {
    int color = abi::NCCL_SPLIT_NOCOLOR, key = 0;
  };
  std::map<int64_t, Place> places; // by rank
  for (size_t color = 0; color < groups.size(); ++color)
    if (groups[color].size() > 1) // a rank that is alone needs no communicator
      for (size_t key = 0; key < groups[color].size(); ++key)
        places[groups[color][key]] = {static_cast<int>(color), static_cast<int>(key)};
  entry->second.resize(program.locals.size());
  if (places.empty())
    return &entry->second;
  abi::ncclConfig_t wanted = config();
  Making making;
  making.function = "CommSplit";
  making.parents = program.parents;
  making.hasMember = [&](size_t i) { return places.contains(program.locals[i]); };
  making.make = [&](size_t i, abi::ncclComm_t parent, abi::ncclComm_t *into) {
    const auto found = places.find(program.locals[i]);
    const Place place = found == places.end() ? Place() : found->second;
    return nccl.CommSplit(parent, place.color, place.key, into, &wanted);
  };
  TILEWRIGHT_ASSIGN(entry->second, makeAll(program, making, deadline));
  return &entry->second;
}

/// A key that is equal for the same cliques in every process.
static uint64_t hashOfCliques(std::span<const DeviceClique> cliques) {
  uint64_t hash = cliques.size();
  for (const DeviceClique &clique : cliques) {
    const int64_t head[] = {clique.isPairs, clique.lane,
                            static_cast<int64_t>(clique.groups.size())};
    hash = hashOf(head, hash);
    for (const std::vector<int64_t> &group : clique.groups)
      hash = hashOf(group, hash);
  }
  return hash;
}

Status Job::announce(const Program &program, std::span<const DeviceClique> cliques) {
  if (membership.processes().size() == 1)
    return Status();
  return store.put(concat(keyOf(program), "/prepare/", program.prepared, "/", membership.process),
                   concat(hashOfCliques(cliques)));
}

Status Job::explain(const Program &program, std::span<const DeviceClique> cliques, Status why) {
  if (why.error() != Error::collectiveStuck)
    return why;
  std::set<int64_t> processes;
  for (int64_t member : program.members)
    processes.insert(membership.processOfRank[static_cast<size_t>(member)]);
  const std::string own = concat(hashOfCliques(cliques));
  std::string missing;
  for (int64_t process : processes) {
    if (process == membership.process)
      continue;
    TILEWRIGHT_ASSIGN(
        std::optional<std::string> note,
        store.tryGet(concat(keyOf(program), "/prepare/", program.prepared, "/", process)));
    if (note && *note != own)
      return Status(Error::commPlanDiffers,
                    concat("process ", membership.process, " prepares ", cliques.size(),
                           " cliques (hash ", own, ") where process ", process,
                           " prepares others (hash ", *note,
                           "); the processes must load the same programs in the same order"));
    if (!note)
      missing += concat(missing.empty() ? "" : "; ", "process ", process, " with ",
                        membership.ranksText(process));
  }
  return Status(Error::ranksNotConnected,
                concat("process ", membership.process,
                       " timed out while it made NCCL communicators: ",
                       missing.empty() ? concat("all processes have come, but ", why.message())
                                       : concat(missing, " did not load the program")));
}

/// E6002 if a group of a clique is not valid for a program of `size` ranks.
static Status checkCliques(std::span<const DeviceClique> cliques, int64_t size) {
  for (size_t i = 0; i < cliques.size(); ++i) {
    Call call;
    call.kind = cliques[i].isPairs ? Kind::permute : Kind::broadcast; // need not contain rank 0
    call.groups = &cliques[i].groups;
    const std::string name = concat("clique ", i);
    call.name = name;
    TILEWRIGHT_TRY(cliqueOf(call, 0, size).takeStatus());
  }
  return Status();
}

Result<std::vector<Job::LocalSeats>> Job::prepare(const std::vector<int64_t> &members,
                                                  std::span<const DeviceClique> cliques,
                                                  Deadline deadline) {
  const int64_t size = static_cast<int64_t>(members.size());
  const int64_t known = static_cast<int64_t>(membership.processOfRank.size());
  std::set<int64_t> distinct;
  for (int64_t member : members)
    if (member < 0 || member >= known ||
        membership.processOfRank[static_cast<size_t>(member)] < 0 ||
        !distinct.insert(member).second)
      return Status(Error::collectiveGroups,
                    concat("a program with members ", listed(members),
                           " names a rank twice, or one that is not among the ", known,
                           " ranks of the job's current epoch"));
  TILEWRIGHT_TRY(checkCliques(cliques, size));
  std::lock_guard lock(preparing);
  if (failure.isSet())
    return Status(Error::collectiveAborted, failure.text());
  Result<std::vector<LocalSeats>> seats = prepareNow(members, cliques, deadline);
  if (seats.isOk())
    return seats;
  Status status = std::move(seats).takeStatus();
  fail(status.message()); // communicators that other ranks wait for will never be made
  return status;
}

Job::Program &Job::programOf(const std::vector<int64_t> &members) {
  for (const auto &program : programs)
    if (program->members == members)
      return *program;
  auto program = std::make_unique<Program>();
  program->members = members;
  for (size_t rank = 0; rank < members.size(); ++rank)
    if (localRank(members[rank]))
      program->locals.push_back(static_cast<int64_t>(rank));
  programs.push_back(std::move(program));
  return *programs.back();
}

Result<std::vector<Job::LocalSeats>> Job::prepareNow(const std::vector<int64_t> &members,
                                                     std::span<const DeviceClique> cliques,
                                                     Deadline deadline) {
  Program &program = programOf(members);
  std::vector<LocalSeats> result;
  for (size_t i = 0; i < program.locals.size(); ++i)
    result.push_back({program.locals[i], localRank(program.memberOf(i)), {}});
  if (result.empty())
    return result;
  TILEWRIGHT_TRY(announce(program, cliques));
  Groups everyRank(1);
  everyRank[0].resize(members.size());
  std::iota(everyRank[0].begin(), everyRank[0].end(), 0);
  Status status;
  if (program.parents.empty() && members.size() > 1)
    status = initialize(program, deadline);
  for (const DeviceClique &clique : cliques) {
    const bool isAll = clique.isPairs || clique.groups.empty();
    const Groups &groups = isAll ? everyRank : clique.groups;
    const Comms *comms = &program.parents;
    if (status.isOk() && members.size() > 1) {
      auto made = split(program, clique.lane, groups, deadline);
      if (made.isOk())
        comms = *made;
      else
        status = std::move(made).takeStatus();
    }
    if (!status.isOk())
      break;
    for (size_t i = 0; i < result.size(); ++i) {
      Seat seat;
      seat.comm = comms->empty() ? nullptr : (*comms)[i];
      for (const std::vector<int64_t> &group : groups)
        if (auto mine = std::find(group.begin(), group.end(), result[i].rank);
            mine != group.end()) {
          seat.mine = static_cast<size_t>(mine - group.begin());
          seat.group = group;
        }
      seat.isPairs = clique.isPairs;
      if (clique.isPairs)
        seat.pairs = clique.groups;
      result[i].seats.push_back(std::move(seat));
    }
  }
  if (!status.isOk())
    return explain(program, cliques, std::move(status));
  ++program.prepared;
  return result;
}

std::vector<int64_t> Job::membersLeft(const Program &program) const {
  std::vector<int64_t> left;
  for (int64_t member : program.members)
    if (membership.processOfRank[static_cast<size_t>(member)] >= 0)
      left.push_back(member);
  return left;
}

Result<std::set<uint64_t>> Job::agreeOnShrinking(const Job &old, Deadline deadline) {
  // The programs that this process can shrink, each with the number of processes that must be able
  // to shrink it.
  std::map<uint64_t, size_t> own;
  for (const auto &program : old.programs) {
    std::set<int64_t> processes;
    for (int64_t member : membersLeft(*program))
      processes.insert(membership.processOfRank[static_cast<size_t>(member)]);
    if (!program->parents.empty() &&
        std::all_of(program->parents.begin(), program->parents.end(),
                    [](const Comm *comm) { return comm->handle.load() != nullptr; }))
      own[hashOf(program->members, 0)] = processes.size();
  }
  std::set<uint64_t> result;
  const std::vector<int64_t> processes = membership.processes();
  if (processes.size() == 1) {
    for (const auto &[hash, count] : own)
      result.insert(hash);
    return result;
  }
  const std::string key = concat(membership.job, "/nccl/", membership.epoch, "/shrink/");
  auto read = [&](const std::string &name) -> Result<std::istringstream> {
    auto text = store.get(key + name, deadline);
    if (!text.isOk())
      return Status(
          Error::ranksNotConnected,
          concat("process ", membership.process, " waited in vain for '", key, name,
                 "' to shrink NCCL communicators: ", std::move(text).takeStatus().message()));
    return std::istringstream(*text);
  };
  std::string note;
  for (const auto &[hash, count] : own)
    note += concat(hash, " ", count, " ");
  TILEWRIGHT_TRY(store.put(concat(key, membership.process), note));
  uint64_t hash = 0;
  if (membership.process == processes.front()) {
    std::map<uint64_t, size_t> missing; // processes that have not yet said that they can
    for (int64_t process : processes) {
      TILEWRIGHT_ASSIGN(std::istringstream text, read(concat(process)));
      for (size_t count = 0; text >> hash >> count;)
        --missing.try_emplace(hash, count).first->second;
    }
    std::string verdict;
    for (const auto &[each, count] : missing)
      if (count == 0)
        verdict += concat(each, " ");
    TILEWRIGHT_TRY(store.put(key + "verdict", verdict));
  }
  TILEWRIGHT_ASSIGN(std::istringstream verdict, read("verdict"));
  while (verdict >> hash)
    result.insert(hash);
  return result;
}

Status Job::shrinkFrom(Job &old, Deadline deadline) {
  if (!nccl.CommRevoke || !nccl.CommShrink)
    return Status();
  std::lock_guard oldLock(old.preparing), lock(preparing);
  TILEWRIGHT_ASSIGN(const std::set<uint64_t> agreed, agreeOnShrinking(old, deadline));
  for (const auto &program : old.programs) {
    if (!agreed.contains(hashOf(program->members, 0)))
      continue;
    const std::vector<int64_t> members = membersLeft(*program);
    std::vector<int> without;
    for (size_t rank = 0; rank < program->members.size(); ++rank)
      if (membership.processOfRank[static_cast<size_t>(program->members[rank])] < 0)
        without.push_back(static_cast<int>(rank));
    // Two lists may become equal; one communicator then serves both.
    Program &shrunk = programOf(members);
    if (members.size() < 2 || without.empty() || !shrunk.parents.empty() || shrunk.locals.empty())
      continue;
    Comms parents;
    for (size_t i = 0; i < program->locals.size(); ++i)
      if (LocalRank *rank = localRank(program->memberOf(i))) {
        rank->awaitRest({&program->parents[i], 1}, deadline);
        parents.push_back(program->parents[i]);
      }
    abi::ncclConfig_t wanted = config();
    Making making;
    making.function = "CommShrink";
    making.parents = parents;
    making.make = [&](size_t, abi::ncclComm_t parent, abi::ncclComm_t *into) {
      return nccl.CommShrink(parent, without.data(), static_cast<int>(without.size()), into,
                             &wanted, abi::NCCL_SHRINK_ABORT);
    };
    TILEWRIGHT_ASSIGN(shrunk.parents, makeAll(shrunk, making, deadline));
  }
  return Status();
}

} // namespace tilewright::collective::nccl
