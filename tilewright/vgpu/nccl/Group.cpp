#include "tilewright/vgpu/nccl/Group.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace tilewright::vgpu::nccl {

namespace {
struct Pending {
  std::shared_ptr<Comm> comm;
  std::vector<Operation> operations;
};
struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Job> jobs;
  std::vector<Pending> pending; // in the order of the first operation of each communicator
};
} // namespace

static thread_local Group group;

static bool isBlocking(const Job &job) { return job.comms.front()->config.isBlocking; }

/// Runs the jobs at the same time, because ranks of one thread wait for each other.
static ncclResult_t runJobs(std::vector<Job> &jobs) {
  std::vector<ncclResult_t> results(jobs.size(), ncclSuccess);
  std::map<Comm *, std::vector<size_t>> lanes;
  for (size_t i = 0; i < jobs.size(); ++i)
    lanes[jobs[i].comms.front().get()].push_back(i);
  std::vector<std::thread> threads;
  // A rank has finished its calls when its own lane has, even if other lanes are still waiting.
  auto runLane = [&](const std::vector<size_t> &lane) {
    for (size_t i : lane) {
      results[i] = jobs[i].run();
      for (const std::shared_ptr<Comm> &comm : jobs[i].comms) {
        comm->setState(results[i]);
        comm->endCall();
      }
    }
  };
  for (auto lane = lanes.begin(); lane != lanes.end(); ++lane)
    if (std::next(lane) == lanes.end())
      runLane(lane->second);
    else
      threads.emplace_back(runLane, std::cref(lane->second));
  for (std::thread &thread : threads)
    thread.join();
  ncclResult_t first = ncclSuccess;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (results[i] != ncclSuccess && isBlocking(jobs[i]))
      jobs[i].undo();
    if (first == ncclSuccess)
      first = results[i];
  }
  return first;
}

static ncclResult_t launch(std::vector<Pending> &pending) {
  std::vector<std::unique_ptr<Batch>> batches;
  for (Pending &one : pending)
    batches.push_back(std::make_unique<Batch>(one.comm, std::move(one.operations)));
  for (const std::unique_ptr<Batch> &batch : batches)
    batch->announceConnections();
  // If one rank gives up, the whole group ends, because nothing in it has started yet.
  auto isOver = [&] {
    return std::any_of(batches.begin(), batches.end(),
                       [](const auto &batch) { return batch->comm->isEnding(); });
  };
  for (const std::unique_ptr<Batch> &batch : batches)
    NCCL_TRY(batch->waitForConnections(isOver));
  for (std::unique_ptr<Batch> &batch : batches)
    NCCL_TRY(Batch::submit(std::move(batch)));
  return ncclSuccess;
}

static ncclResult_t execute(Group &all) {
  ncclResult_t result = runJobs(all.jobs);
  std::vector<std::shared_ptr<Comm>> used;
  for (const Pending &one : all.pending)
    used.push_back(one.comm);
  if (result == ncclSuccess)
    result = launch(all.pending);
  for (const std::shared_ptr<Comm> &comm : used) {
    comm->setState(result);
    comm->endCall();
  }
  return result;
}

/// Drops the calls of a group that failed or that is only simulated.
static void drop(Group &all) {
  for (Job &job : all.jobs)
    job.undo();
}

void beginGroup() { ++group.depth; }

bool isInGroup() { return group.depth > 0; }

ncclResult_t noteGroupError(ncclResult_t result) {
  if (result != ncclSuccess && result != ncclInProgress && group.depth > 0)
    group.error = result;
  return result;
}

void addJob(Job job) { group.jobs.push_back(std::move(job)); }

void addOperation(const std::shared_ptr<Comm> &comm, const Operation &operation) {
  for (Pending &one : group.pending)
    if (one.comm == comm) {
      one.operations.push_back(operation);
      return;
    }
  group.pending.push_back({comm, {operation}});
}

ncclResult_t endGroup() {
  if (group.depth == 0)
    return failCall(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0)
    return ncclSuccess;
  auto all = std::make_shared<Group>(std::exchange(group, {}));
  if (all->error != ncclSuccess) {
    drop(*all);
    return all->error;
  }
  bool waits = true;
  auto begin = [&](const std::shared_ptr<Comm> &comm) {
    comm->setState(ncclInProgress);
    comm->beginCall();
  };
  for (const Job &job : all->jobs) {
    waits &= isBlocking(job);
    std::for_each(job.comms.begin(), job.comms.end(), begin);
  }
  for (const Pending &one : all->pending) {
    waits &= one.comm->config.isBlocking;
    begin(one.comm);
  }
  if (all->jobs.empty() && all->pending.empty())
    return ncclSuccess;
  if (waits)
    return execute(*all);
  std::thread([all] { execute(*all); }).detach();
  return ncclInProgress;
}

ncclResult_t dropGroup(double &seconds) {
  if (group.depth != 1)
    return failCall(ncclInvalidUsage, "ncclGroupSimulateEnd ends an outermost group only");
  Group all = std::exchange(group, {});
  drop(all);
  // Assumes that a call takes 10 us and that a device sends 100 GB/s: the estimates only order
  // calls by size.
  seconds = 0;
  for (const Pending &one : all.pending)
    for (const Operation &operation : one.operations)
      seconds += 10e-6 + static_cast<double>(operation.bytes()) / 100e9;
  return all.error;
}

} // namespace tilewright::vgpu::nccl
