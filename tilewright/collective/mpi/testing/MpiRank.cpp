// One process of MpiProcessTest, started by mpiexec:
//
//   MpiRank LIBRARY DIRECTORY WHAT
//
// runs the test case WHAT with the MPI library LIBRARY and a key-value store in DIRECTORY, and
// appends its results to the file `said` there. The job numbers its processes in the opposite order
// to MPI, so that confusing the two numberings makes the test fail.
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/mpi/MpiEngine.h"
#include "tilewright/collective/mpi/Port.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/collective/testing/Workload.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

namespace tilewright::collective::mpi {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Process {
  std::string library, directory;
  DirectoryKeyValueStore store;
  Membership job;

  int64_t ranks() const { return static_cast<int64_t>(job.processOfRank.size()); }
  MpiEngine::Options options() const {
    MpiEngine::Options options;
    options.library = library;
    options.connectTimeout = 20s;
    return options;
  }
  /// Writes to a file, because MPICH's mpiexec may exit and close its pipes when a process has
  /// died.
  void say(const std::string &line) const {
    std::ofstream file(directory + "/said", std::ios::app);
    file << concat("rank ", job.process, ": ", line, "\n") << std::flush;
  }
};

Status doSteps(Engine &engine, const Process &self, const std::vector<int64_t> &members,
               uint64_t steps) {
  const int64_t ranks = static_cast<int64_t>(members.size());
  const int64_t rank =
      std::find(members.begin(), members.end(), self.job.process) - members.begin();
  TILEWRIGHT_ASSIGN(auto communicator, engine.join({1, rank, ranks, members}));
  for (uint64_t number = 0; number < steps; ++number) {
    const test::Step step = test::stepOf(7, number, ranks, 300'000);
    std::vector<std::unique_ptr<test::Work>> works;
    std::vector<Communicator::Ticket> tickets;
    for (const test::Task &task : step.tasks) {
      works.push_back(std::make_unique<test::Work>(task, rank, ranks,
                                                   [](size_t) -> std::byte * { return nullptr; }));
      if (step.isOverlapped) {
        TILEWRIGHT_ASSIGN(Communicator::Ticket ticket, communicator->start(works.back()->call()));
        tickets.push_back(ticket);
      } else {
        TILEWRIGHT_TRY(communicator->run(works.back()->call()));
      }
    }
    for (Communicator::Ticket ticket : tickets)
      TILEWRIGHT_TRY(communicator->finish(ticket));
    for (const auto &work : works)
      TILEWRIGHT_TRY(work->check());
  }
  return Status();
}

Status work(Process &self) {
  TILEWRIGHT_ASSIGN(auto engine, MpiEngine::connect(self.job, self.store, self.options()));
  TILEWRIGHT_TRY(doSteps(*engine, self, self.job.processOfRank, 100));
  self.say(concat("100 steps were right, ", engine->traffic().payload, " bytes were sent"));
  return Status();
}

/// Two simulated hosts, with shared memory within each and MPI between them.
Status hosts(Process &self) {
  hosts::HostsEngine::Options options;
  options.host = concat("host", self.job.process / 2);
  options.between = hosts::HostsEngine::Between::mpi;
  options.mpiLibrary = self.library;
  TILEWRIGHT_ASSIGN(auto engine, hosts::HostsEngine::connect(self.job, self.store, options));
  TILEWRIGHT_TRY(doSteps(*engine, self, self.job.processOfRank, 100));
  const uint64_t before = engine->traffic().payload;
  TILEWRIGHT_ASSIGN(auto communicator, engine->join({2, self.job.process, self.ranks(), {}}));
  constexpr size_t count = 1 << 20;
  TILEWRIGHT_TRY(test::sumOnes(*communicator, count, static_cast<float>(self.ranks())));
  self.say(concat("100 steps were right, ", engine->traffic().payload - before, " of ",
                  count * sizeof(float), " bytes left"));
  return Status();
}

/// The last of three processes kills itself. MPI does not report that; the membership group does.
Status killed(Process &self) {
  membership::Group::Config config;
  config.process = self.job.process;
  config.processes = self.job.processOfRank;
  config.address = "127.0.0.1";
  TILEWRIGHT_ASSIGN(auto group, membership::Group::join(config, self.store, after(20s)));
  membership::View view = group->view();
  std::string killedAt = "0";
  for (int life = 0; life < 2; ++life) {
    const auto notes = group->store(view.epoch);
    TILEWRIGHT_ASSIGN(auto engine,
                      MpiEngine::connect(view.membershipOf(self.job), *notes, self.options()));
    const auto watch = group->watch(view.epoch, [&](const membership::Reason &why) {
      if (!why.hasLeft) // a member that left in good order has done its part
        engine->revoke(why.toString(self.job));
    });
    const auto mine = std::find(view.members.begin(), view.members.end(), self.job.process);
    TILEWRIGHT_ASSIGN(
        auto communicator,
        engine->join({static_cast<int64_t>(view.epoch) + 1, mine - view.members.begin(),
                      static_cast<int64_t>(view.members.size()), view.members}));
    Status status;
    for (int round = 0; status.isOk() && round < 200; ++round) {
      if (life == 0 && round == 100 && self.job.process == 2) {
        TILEWRIGHT_TRY(self.store.put("killed", concat(Clock::now().time_since_epoch().count())));
        raise(SIGKILL);
      }
      status = test::sumOnes(*communicator, 5000, static_cast<float>(view.members.size()));
      if (life == 1 && round == 0 && status.isOk()) {
        const auto since = Clock::now() - Clock::time_point(Clock::duration(std::stoll(killedAt)));
        self.say(concat("summed again after ",
                        std::chrono::duration<double, std::milli>(since).count(), " ms with ",
                        view.members.size()));
      }
    }
    if (life == 1)
      return status;
    if (status.isOk())
      return Status(Code::internal, "the other process did not die");
    TILEWRIGHT_ASSIGN(killedAt, self.store.get("killed", after(20s)));
    const auto since = Clock::now() - Clock::time_point(Clock::duration(std::stoll(killedAt)));
    self.say(concat("after ", std::chrono::duration<double, std::milli>(since).count(),
                    " ms: ", status.toString()));
    group->revoke(view.epoch, {self.job.process, self.job.process, {}, {}, status.message()});
    TILEWRIGHT_ASSIGN(view, group->agree(view.epoch, after(20s)));
  }
  return Status();
}

/// Compares our all_reduce over MPI with MPI_Allreduce, one after the other in the same processes.
Status timed(Process &self) {
  using Allreduce = int (*)(const void *, void *, int, void *, void *, void *);
  TILEWRIGHT_ASSIGN(auto engine, MpiEngine::connect(self.job, self.store, self.options()));
  void *const handle = dlopen(self.library.c_str(), RTLD_NOW); // the engine has already loaded it
  const auto allreduce = reinterpret_cast<Allreduce>(dlsym(handle, "MPI_Allreduce"));
  if (!allreduce)
    return Status(Code::internal, "the MPI library does not export MPI_Allreduce");
  auto *const world = reinterpret_cast<void *>(0x101), *const sum = reinterpret_cast<void *>(0x21),
              *const float32 = reinterpret_cast<void *>(0x210);
  TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, self.job.process, self.ranks(), {}}));
  for (size_t count : {size_t(1), size_t(1) << 14, size_t(1) << 22}) {
    const int rounds = count == 1 ? 2000 : count < (1 << 20) ? 300 : 10;
    std::vector<float> in(count, 1), out(count);
    Call call;
    const std::vector<std::vector<int64_t>> groups;
    call.groups = &groups;
    call.reduction.operation = ReductionKind::add;
    call.identity = count;
    call.tensors = {{ElementType::f32,
                     {static_cast<int64_t>(count)},
                     {static_cast<int64_t>(count)},
                     reinterpret_cast<const std::byte *>(in.data()),
                     reinterpret_cast<std::byte *>(out.data())}};
    double ours = 1e9, theirs = 1e9; // microseconds, best of five
    for (int attempt = 0; attempt < 5; ++attempt) {
      auto begin = Clock::now();
      for (int round = 0; round < rounds; ++round)
        TILEWRIGHT_TRY(communicator->run(call));
      ours =
          std::min(ours, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
      begin = Clock::now();
      for (int round = 0; round < rounds; ++round)
        allreduce(in.data(), out.data(), static_cast<int>(count), float32, sum, world);
      theirs =
          std::min(theirs, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    if (self.job.process == 0)
      self.say(concat(count * sizeof(float), " B: ours ", ours / rounds, " us, MPI_Allreduce ",
                      theirs / rounds, " us, ratio ", ours / theirs));
  }
  return Status();
}

/// Process 1 does not call MPI_Init, so MPI_Init of process 0 would wait forever.
Status alone(Process &self) {
  if (self.job.process == 1)
    return self.store.get("given up", after(20s)).takeStatus();
  MpiEngine::Options options = self.options();
  options.connectTimeout = 1s;
  self.say(MpiEngine::connect(self.job, self.store, options).takeStatus().toString());
  return self.store.put("given up", "");
}

/// Process 1 exits long after process 0, as on a busy machine.
Status late(Process &self) {
  TILEWRIGHT_TRY(work(self));
  if (self.job.process == 1)
    std::this_thread::sleep_for(8s);
  return Status();
}

/// Process 1 publishes an MPI rank outside the world, as if another mpiexec had started it.
Status strange(Process &self) {
  if (self.job.process == 1) {
    TILEWRIGHT_TRY(Port::open(self.library, after(20s)).takeStatus());
    TILEWRIGHT_TRY(self.store.put(concat(self.job.job, "/mpi/0/1"), "5"));
    return Status();
  }
  self.say(MpiEngine::connect(self.job, self.store, self.options()).takeStatus().toString());
  return Status();
}

} // namespace
} // namespace tilewright::collective::mpi

int main(int argc, char **argv) {
  using namespace tilewright;
  using namespace tilewright::collective;
  const char *rank = std::getenv("PMI_RANK"), *size = std::getenv("PMI_SIZE");
  if (argc != 4 || !rank || !size) {
    std::cerr << "usage: mpiexec -n PROCESSES MpiRank LIBRARY DIRECTORY "
                 "work|hosts|killed|timed|alone|late|strange\n";
    return 2;
  }
  const int64_t ranks = std::stoll(size);
  mpi::Process self{argv[1], argv[2], DirectoryKeyValueStore(argv[2]),
                    test::membershipOf(ranks - 1 - std::stoll(rank), ranks)};
  const std::string what = argv[3];
  Status status(Code::invalidArgument, concat("unknown task '", what, "'"));
  const std::map<std::string, Status (*)(mpi::Process &)> bodies = {
      {"work", mpi::work},   {"hosts", mpi::hosts}, {"killed", mpi::killed},  {"timed", mpi::timed},
      {"alone", mpi::alone}, {"late", mpi::late},   {"strange", mpi::strange}};
  if (auto found = bodies.find(what); found != bodies.end())
    status = found->second(self);
  self.say(status.isOk() ? "done" : concat("failed: ", status.toString()));
  return status.isOk() ? 0 : 1;
}
