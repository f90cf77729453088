// How communicators are made and end: ncclGetUniqueId, ncclCommInit*, ncclCommSplit,
// ncclCommShrink, ncclCommFinalize, ncclCommDestroy, ncclCommAbort, ncclCommRevoke.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Cuda.h"
#include "tilewright/vgpu/nccl/Functions.h"
#include "tilewright/vgpu/nccl/Group.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

namespace tilewright::vgpu::nccl {

// The boards that this process made and keeps open for ranks that have not joined yet.
static std::mutex placesMutex;
static std::set<int> &openPlaces() { // guarded by placesMutex
  static auto &only = *new std::set<int>();
  return only;
}

static Board::Place makePlace() {
  const Board::Place place = Board::create();
  std::lock_guard lock(placesMutex);
  if (place.file >= 0)
    openPlaces().insert(place.file);
  return place;
}
/// Called when all ranks have joined, or when a rank gave up: the id cannot be used again.
static void closePlace(const Board::Place &place) {
  std::lock_guard lock(placesMutex);
  if (openPlaces().contains(place.file) && place.isValid()) {
    Board::close(place);
    openPlaces().erase(place.file);
  }
}

static uint64_t hashOf(const void *data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3;
  return hash;
}

/// Reads a configuration of this or another version of NCCL. If it is absent, returns `inherited`.
static ncclResult_t readConfig(const ncclConfig_t *given, const CommConfig &inherited,
                               CommConfig &config) {
  config = inherited;
  if (!given)
    return ncclSuccess;
  ncclConfig_t read;
  if (given->magic != configMagic)
    return failCall(ncclInvalidArgument, "the configuration was not initialised with "
                                         "NCCL_CONFIG_INITIALIZER");
  std::memcpy(static_cast<void *>(&read), given, std::min(given->size, sizeof read));
  auto isWithin = [](int value, int least, int most) {
    return value == NCCL_CONFIG_UNDEF_INT || (value >= least && value <= most);
  };
  if (!isWithin(read.blocking, 0, 1) || !isWithin(read.cgaClusterSize, 0, 8) ||
      !isWithin(read.minCTAs, 1, INT_MAX) || !isWithin(read.maxCTAs, 1, INT_MAX) ||
      !isWithin(read.splitShare, 0, 1) || !isWithin(read.shrinkShare, 0, 1) ||
      !isWithin(read.collnetEnable, 0, 1) || !isWithin(read.CTAPolicy, 0, 3))
    return failCall(ncclInvalidArgument, "a value of the configuration is out of range");
  if (read.minCTAs != NCCL_CONFIG_UNDEF_INT && read.maxCTAs != NCCL_CONFIG_UNDEF_INT &&
      read.minCTAs > read.maxCTAs)
    return failCall(ncclInvalidArgument, concat("minCTAs is ", read.minCTAs,
                                                ", which is more than maxCTAs, ", read.maxCTAs));
  if (read.blocking != NCCL_CONFIG_UNDEF_INT)
    config.isBlocking = read.blocking == 1;
  config.name = read.commName ? read.commName : "";
  return ncclSuccess;
}

/// Makes the current context the communicator's. If there is none, uses device 0's, as the CUDA
/// runtime does.
static ncclResult_t bindContext(Comm &comm, int device = -1) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS)
    return comm.fail(ncclUnhandledCudaError, concat("cuInit failed with ", int(result)));
  if (device < 0 && cuCtxGetCurrent(&comm.context) == CUDA_SUCCESS && comm.context) {
    const bool isKnown = cuCtxGetDevice(&comm.device) == CUDA_SUCCESS;
    return isKnown ? ncclSuccess : comm.fail(ncclUnhandledCudaError, "the context has no device");
  }
  comm.device = std::max(device, 0);
  if (const CUresult result = cuDevicePrimaryCtxRetain(&comm.context, comm.device);
      result != CUDA_SUCCESS)
    return comm.fail(ncclInvalidArgument, concat("there is no device ", comm.device));
  comm.ownsContext = true;
  return ncclSuccess;
}

/// Adds the initialisation of a rank to the group.
static ncclResult_t addInit(ncclComm_t *result, int ranks, std::span<const ncclUniqueId> ids,
                            int rank, const ncclConfig_t *given, int device = -1) {
  if (!result)
    return failCall(ncclInvalidArgument, "the pointer for the communicator is null");
  *result = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks || ids.empty())
    return failCall(ncclInvalidArgument, concat("rank ", rank, " of ", ranks, " ranks with ",
                                                ids.size(), " unique ids"));
  Board::Place place;
  std::memcpy(&place, ids[0].internal, sizeof place);
  if (!place.isValid())
    return failCall(ncclInvalidArgument, "the unique id is not one of ncclGetUniqueId of the "
                                         "virtual NCCL; do all processes load the same library?");
  CommConfig config;
  NCCL_TRY(readConfig(given, {}, config));
  auto comm = std::make_shared<Comm>(rank, ranks, config);
  NCCL_TRY(bindContext(*comm, device));
  *result = addComm(comm);
  const uint64_t agreed = hashOf(ids.data(), ids.size_bytes());
  addJob({{comm},
          [comm, place, agreed] {
            const ncclResult_t joined = comm->join(place, agreed);
            closePlace(place);
            return joined;
          },
          [comm, result] {
            comm->abort();
            removeComm(comm->handle);
            *result = nullptr;
          }});
  return ncclSuccess;
}

/// Joins a communicator that ranks of `parent` make: `mine` is this rank's contribution. The first
/// of the new ranks creates the board and publishes its location.
struct Child {
  std::shared_ptr<Comm> comm; // null: the rank has no part
  int leader = -1;            // a rank of the parent
};
static ncclResult_t
joinChild(Comm &parent, const Child &child,
          const std::function<ncclResult_t(std::span<const std::byte>, std::vector<std::string> &)>
              &publish) {
  Board::Place place;
  if (child.comm && child.leader == parent.rank)
    place = makePlace();
  std::vector<std::string> all;
  ncclResult_t result = publish(std::as_bytes(std::span(&place, 1)), all);
  if (result == ncclSuccess && child.comm) {
    Board::Place found;
    std::memcpy(static_cast<void *>(&found), all[0].data(), sizeof found);
    result = found.isValid() ? child.comm->join(found, 0)
                             : parent.fail(ncclSystemError, "no memory for a communicator");
  }
  if (place.file >= 0)
    closePlace(place);
  return result;
}

static std::shared_ptr<Comm> makeChild(Comm &parent, int rank, int ranks,
                                       const CommConfig &config) {
  auto child = std::make_shared<Comm>(rank, ranks, config);
  child->device = parent.device;
  child->context = parent.context;
  // The child may outlive the parent.
  if (parent.ownsContext &&
      cuDevicePrimaryCtxRetain(&child->context, child->device) == CUDA_SUCCESS)
    child->ownsContext = true;
  return child;
}

/// Ends all work and calls of the rank on the communicator. Later calls may use only the host.
static void revoke(Comm &comm) {
  comm.isRevoked = true;
  comm.stopDevice(RankState::revoked);
  comm.interruptCalls();
  comm.waitForRunning();
  comm.clearState();
}

namespace {
struct Colour {
  int32_t colour, key;
};
} // namespace

/// The communicator depends on the colours of all ranks, so the program's handle gets its
/// communicator when the job runs.
static ncclResult_t runSplit(const std::shared_ptr<Comm> &parent, Colour mine,
                             const CommConfig &config, ncclComm_t *result) {
  std::vector<std::string> all;
  NCCL_TRY(parent->exchange("ncclCommSplit", std::as_bytes(std::span(&mine, 1)), all));
  std::vector<std::pair<int, int>> members; // key and rank of the parent
  for (int rank = 0; rank < parent->ranks; ++rank) {
    Colour theirs;
    std::memcpy(&theirs, all[rank].data(), sizeof theirs);
    if (theirs.colour == mine.colour)
      members.emplace_back(theirs.key, rank);
  }
  std::sort(members.begin(), members.end());
  Child child;
  if (mine.colour != NCCL_SPLIT_NOCOLOR) {
    const auto own = std::find_if(members.begin(), members.end(),
                                  [&](const auto &one) { return one.second == parent->rank; });
    child.comm = makeChild(*parent, static_cast<int>(own - members.begin()),
                           static_cast<int>(members.size()), config);
    child.leader = members.front().second;
  }
  const ncclResult_t joined = joinChild(
      *parent, child, [&](std::span<const std::byte> place, std::vector<std::string> &places) {
        std::vector<std::string> every;
        NCCL_TRY(parent->exchange("ncclCommSplit, second part", place, every));
        places = {child.leader >= 0 ? every[static_cast<size_t>(child.leader)] : std::string()};
        return ncclSuccess;
      });
  if (child.comm) {
    child.comm->setState(joined);
    if (joined == ncclSuccess)
      *result = addComm(child.comm);
  }
  return joined;
}

static ncclResult_t runShrink(const std::shared_ptr<Comm> &parent, const std::vector<int> &members,
                              const CommConfig &config, ncclComm_t *result) {
  const uint64_t hash = hashOf(members.data(), members.size() * sizeof(int));
  const uint64_t key = hash ^ ++parent->shrinkAttempts[hash];
  const auto own = std::find(members.begin(), members.end(), parent->rank);
  const Child child{makeChild(*parent, static_cast<int>(own - members.begin()),
                              static_cast<int>(members.size()), config),
                    members.front()};
  const ncclResult_t joined = joinChild(
      *parent, child, [&](std::span<const std::byte> place, std::vector<std::string> &places) {
        NCCL_TRY(
            parent->exchange(&RankSlot::shrinks, members, key, 1, "ncclCommShrink", place, places));
        places.resize(1); // the leader is the first member
        return ncclSuccess;
      });
  child.comm->setState(joined);
  if (joined == ncclSuccess)
    *result = addComm(child.comm);
  return joined;
}

namespace api {

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId) {
  if (!uniqueId)
    return failCall(ncclInvalidArgument, "the pointer for the unique id is null");
  const Board::Place place = makePlace();
  if (place.file < 0)
    return failCall(ncclSystemError, "cannot make a file in memory for a communicator");
  static_assert(sizeof place <= sizeof uniqueId->internal);
  *uniqueId = {};
  std::memcpy(uniqueId->internal, &place, sizeof place);
  return ncclSuccess;
}

/// Runs `add` in its own group, or in the thread's group if one is open.
template <typename Add> static ncclResult_t inGroup(Add add) {
  beginGroup();
  const ncclResult_t added = noteGroupError(add());
  const ncclResult_t ended = endGroup();
  return added != ncclSuccess ? added : ended;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t *config) {
  return inGroup([&] { return addInit(comm, nranks, {&commId, 1}, rank, config); });
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank) {
  return inGroup([&] { return addInit(comm, nranks, {&commId, 1}, rank, nullptr); });
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId *commIds, ncclConfig_t *config) {
  if (nId < 1 || nId > nranks || !commIds)
    return noteGroupError(
        failCall(ncclInvalidArgument, concat(nId, " unique ids for ", nranks, " ranks")));
  return inGroup([&] {
    return addInit(newcomm, nranks, {commIds, static_cast<size_t>(nId)}, myrank, config);
  });
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist) {
  if (!comm || ndev < 1)
    return noteGroupError(failCall(ncclInvalidArgument, concat(ndev, " devices")));
  ncclUniqueId id;
  NCCL_TRY(ncclGetUniqueId(&id));
  return inGroup([&] {
    for (int i = 0; i < ndev; ++i)
      NCCL_TRY(addInit(&comm[i], ndev, {&id, 1}, i, nullptr, devlist ? devlist[i] : i));
    return ncclSuccess;
  });
}

/// Finds the communicator of a call that must not overlap with other calls.
static ncclResult_t needReady(ncclComm_t handle, std::shared_ptr<Comm> &comm) {
  comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  return comm->checkReady();
}

ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config) {
  return inGroup([&]() -> ncclResult_t {
    std::shared_ptr<Comm> comm;
    NCCL_TRY(needReady(handle, comm));
    if (!newcomm || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
      return comm->fail(ncclInvalidArgument,
                        concat("colour ", color, ", expected 0 or more, or NCCL_SPLIT_NOCOLOR"));
    *newcomm = nullptr;
    CommConfig read;
    NCCL_TRY(readConfig(config, comm->config, read));
    addJob({{comm}, [=] { return runSplit(comm, {color, key}, read, newcomm); }});
    return ncclSuccess;
  });
}

ncclResult_t ncclCommShrink(ncclComm_t handle, int *excludeRanksList, int excludeRanksCount,
                            ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags) {
  return inGroup([&]() -> ncclResult_t {
    std::shared_ptr<Comm> comm = findComm(handle);
    if (!comm)
      return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
    // With NCCL_SHRINK_ABORT the communicator may have failed.
    if (shrinkFlags != NCCL_SHRINK_ABORT)
      NCCL_TRY(comm->checkReady());
    if (!newcomm || !excludeRanksList || excludeRanksCount < 1 ||
        excludeRanksCount >= comm->ranks || shrinkFlags < NCCL_SHRINK_DEFAULT ||
        shrinkFlags > NCCL_SHRINK_ABORT)
      return comm->fail(ncclInvalidArgument, concat("cannot exclude ", excludeRanksCount, " of ",
                                                    comm->ranks, " ranks, flags ", shrinkFlags));
    *newcomm = nullptr;
    std::vector<int> members;
    const std::span excluded(excludeRanksList, static_cast<size_t>(excludeRanksCount));
    for (int rank : excluded)
      if (rank < 0 || rank >= comm->ranks)
        return comm->fail(ncclInvalidArgument, concat("there is no rank ", rank, " to exclude"));
    for (int rank = 0; rank < comm->ranks; ++rank)
      if (std::find(excluded.begin(), excluded.end(), rank) == excluded.end())
        members.push_back(rank);
    if (std::find(members.begin(), members.end(), comm->rank) == members.end())
      return comm->fail(ncclInvalidUsage, "an excluded rank must not call ncclCommShrink");
    CommConfig read;
    NCCL_TRY(readConfig(config, comm->config, read));
    if (shrinkFlags == NCCL_SHRINK_ABORT) {
      revoke(*comm);
    }
    addJob({{comm}, [=] { return runShrink(comm, members, read, newcomm); }});
    return ncclSuccess;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  return inGroup([&]() -> ncclResult_t {
    std::shared_ptr<Comm> comm;
    NCCL_TRY(needReady(handle, comm));
    if (comm->isFinalized || comm->isRevoked)
      return comm->fail(ncclInvalidUsage, comm->isRevoked
                                              ? "the communicator was revoked"
                                              : "the communicator was finalized before");
    comm->isFinalized = true;
    addJob({{comm}, [comm] {
              NCCL_TRY(comm->flush());
              comm->leave();
              return ncclSuccess;
            }});
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  if (!handle)
    return ncclSuccess;
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  if (!comm->isFinalized && !comm->isRevoked && comm->state() != ncclInProgress)
    comm->flush();
  // If a rank left while it initialises, the other ranks would wait for it, so it aborts.
  if (comm->state() == ncclInProgress && !comm->isFinalized)
    comm->abort();
  else
    comm->leave();
  removeComm(handle);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  if (!handle)
    return ncclSuccess;
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  comm->abort();
  comm->interruptCalls(); // a call in the background must not meet ranks that come later
  comm->waitForRunning();
  removeComm(handle);
  return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t handle, int revokeFlags) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  if (revokeFlags != 0)
    return comm->fail(ncclInvalidArgument, concat("flags are ", revokeFlags, ", expected 0"));
  if (comm->isFinalized)
    return comm->fail(ncclInvalidUsage, "the communicator was finalized");
  revoke(*comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *asyncError) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm || !asyncError)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator, or a null pointer");
  *asyncError = comm->state();
  return ncclSuccess;
}

/// Returns a number of a communicator, which must be ready.
template <typename Number>
static ncclResult_t giveNumber(ncclComm_t handle, int *result, Number number) {
  std::shared_ptr<Comm> comm;
  NCCL_TRY(needReady(handle, comm));
  if (!result)
    return comm->fail(ncclInvalidArgument, "the pointer for the result is null");
  *result = (*comm).*number;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device) {
  return giveNumber(comm, device, &Comm::device);
}
ncclResult_t ncclCommCount(ncclComm_t comm, int *count) {
  return giveNumber(comm, count, &Comm::ranks);
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
  return giveNumber(comm, rank, &Comm::rank);
}

} // namespace api
} // namespace tilewright::vgpu::nccl
