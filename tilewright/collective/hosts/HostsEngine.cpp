#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/hosts/Steps.h"
#include "tilewright/collective/messages/Exchange.h"
#include "tilewright/collective/mpi/MpiEngine.h"
#include "tilewright/collective/tcp/Mesh.h"
#include "tilewright/collective/ucx/UcxEngine.h"
#include "tilewright/support/Concat.h"

#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/stat.h>

namespace tilewright::collective::hosts {

using namespace std::chrono_literals;

std::string nameOfThisHost() {
  std::string boot = "host";
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat status = {};
  (void)stat("/proc/self/ns/net", &status);
  return concat(boot, "-", status.st_ino);
}

class HostsEngine::Job {
public:
  static Result<std::shared_ptr<Job>> create(const Membership &membership, KeyValueStore &store,
                                             const Options &options);
  Job(const Membership &membership, const Options &options)
      : membership(membership), options(options) {}
  ~Job() {
    progressThread.reset();
    progressEngines.clear();
  }
  bool isHere(int64_t rank) const { return hostOfRank[static_cast<size_t>(rank)] == options.host; }
  void fail(std::string text) {
    if (!failure.set(text))
      return;
    host->fail(text);
    mesh->fail(text);
  }

  const Membership membership;
  const Options options;
  FailureBox failure, meshFailure;
  std::vector<std::string> hostOfRank;
  std::shared_ptr<shm::Host> host;
  std::unique_ptr<messages::Messages> mesh;
  std::map<int64_t, std::unique_ptr<ProgressEngine>> progressEngines;
  std::unique_ptr<ProgressThread> progressThread;
};

namespace {

using Job = HostsEngine::Job;

/// Wraps an operation and records whether it waits for messages or for shared memory.
class Placed final : public Operation {
public:
  Placed(std::unique_ptr<Operation> operation, bool isWire, bool &isOnWire)
      : operation(std::move(operation)), isWire(isWire), isOnWire(isOnWire) {}
  Result<bool> advance() override {
    isOnWire = isWire;
    return operation->advance();
  }
  bool isMissing(size_t member) const override { return operation->isMissing(member); }

private:
  const std::unique_ptr<Operation> operation;
  const bool isWire;
  bool &isOnWire;
};

/// Whether the result is independent of the association of the reduction.
bool isAnyOrderSame(const Call &call) {
  if (call.reduction.isBody())
    return false;
  const bool isArithmetic = call.reduction.operation == ReductionKind::add ||
                            call.reduction.operation == ReductionKind::multiply;
  return !isArithmetic ||
         std::all_of(call.tensors.begin(), call.tensors.end(), [](const Tensor &tensor) {
           return numerics::isInteger(tensor.element) || tensor.element == ElementType::pred;
         });
}

class HostsProgressEngine final : public ProgressEngine {
public:
  HostsProgressEngine(Job &job, int64_t rank)
      : ProgressEngine(rank, job.options.timeout, job.failure), job(job),
        own(*job.host->peer(rank).rank) {}

  void fail(std::string text) override { job.fail(std::move(text)); }
  void leave(int64_t run) override { job.mesh->leaveRun(rank(), run); }

private:
  static constexpr uint64_t spinning = 600;

  std::unique_ptr<Operation> begin(OrderedChannel &channel,
                                   const CollectiveRequest &request) override {
    const Call &call = *request.call;
    const bool isHere = std::all_of(channel.members.begin(), channel.members.end(),
                                    [&](int64_t member) { return job.isHere(member); });
    if (isHere)
      return std::make_unique<Placed>(shm::makeShmOperation(*job.host, channel, request), false,
                                      isOnWire);
    if (!channel.data)
      channel.data = std::make_unique<Levels>(channel, job.hostOfRank);
    auto &levels = static_cast<Levels &>(*channel.data);
    const bool mayRegroup = !call.reduction.isBody() &&
                            (job.options.sums == HostsEngine::Sums::byHost || isAnyOrderSame(call));
    if (auto steps =
            makeSteps({*job.host, *job.mesh, isOnWire}, channel, levels, request, mayRegroup))
      return steps;
    return std::make_unique<Placed>(
        messages::makeExchange(*job.mesh, levels.flat, request, !mayRegroup), true, isOnWire);
  }

  bool isSleepRound(uint64_t round) const override {
    return round >= (job.options.canSpin && job.host->canSpin ? spinning : 4);
  }
  void publishStatus(std::string_view status, bool isLong) override {
    own.status.write(status);
    if (isLong)
      job.mesh->publishStatus(rank(), status);
  }
  void enterSleep() override {
    job.host->announceSleep();
    seen = job.host->board->doorbell.load(std::memory_order_acquire);
    hasLooked = false;
  }
  void leaveSleep() override { job.host->board->sleepers.fetch_sub(1, std::memory_order_relaxed); }
  void backOff(uint64_t round) override {
    if (!isSleepRound(round)) {
      if (isOnWire)
        job.mesh->progress(0ms);
      else if (!job.host->canSpin)
        sched_yield();
      return;
    }
    if (!std::exchange(hasLooked, true))
      return;
    if (isOnWire)
      job.mesh->progress(2ms);
    else {
      shm::sleepOn(job.host->board->doorbell, seen, 2ms);
      seen = job.host->board->doorbell.load(std::memory_order_acquire);
      job.mesh->progress(0ms);
    }
  }
  std::optional<std::string> pollPeers(const OrderedChannel &channel, const Operation *operation,
                                       int64_t run) override {
    job.host->pollPeers();
    for (FailureBox *box : {&job.host->failure, &job.meshFailure})
      if (box->isSet()) {
        job.fail(box->text());
        return std::nullopt;
      }
    return job.mesh->departedMember(channel, operation, run);
  }
  std::string peerStatus(int64_t rank) override {
    return job.isHere(rank) ? job.host->peer(rank).rank->status.read() : job.mesh->peerStatus(rank);
  }
  void wakeProgressThread() override {
    if (job.options.hasProgressThread)
      job.progressThread->wake();
  }

  Job &job;
  shm::RankBoard &own;
  uint32_t seen = 0;
  bool hasLooked = false;
  bool isOnWire = true; // used only by the thread that makes progress
};

} // namespace

std::string_view nameOf(HostsEngine::Between between) {
  switch (between) {
  case HostsEngine::Between::best:
    return "best";
  case HostsEngine::Between::tcp:
    return "tcp";
  case HostsEngine::Between::ucx:
    return "ucx";
  case HostsEngine::Between::mpi:
    return "mpi";
  }
  return "";
}

std::optional<HostsEngine::Between> betweenNamed(std::string_view name) {
  using enum HostsEngine::Between;
  for (HostsEngine::Between each : {best, tcp, ucx, mpi})
    if (nameOf(each) == name)
      return each;
  return std::nullopt;
}

/// Whether this host has an RDMA device. UCX uses RDMA; TCP does not.
static bool hasRdma() {
  std::error_code ignored;
  return std::filesystem::directory_iterator("/sys/class/infiniband", ignored) !=
         std::filesystem::directory_iterator();
}

Result<std::shared_ptr<HostsEngine::Job>> HostsEngine::Job::create(const Membership &membership,
                                                                   KeyValueStore &store,
                                                                   const Options &options) {
  Rendezvous rendezvous(membership, store, after(options.connectTimeout));
  auto key = [&](int64_t process) {
    return concat(membership.job, "/host/", membership.epoch, "/", process);
  };
  // All processes must use the same transport, so each publishes the one that it would use.
  const Between own = options.between != Between::best         ? options.between
                      : hasRdma() && ucx::isAvailable().isOk() ? Between::ucx
                                                               : Between::tcp;
  TILEWRIGHT_TRY(store.put(key(membership.process), concat(nameOf(own), " ", options.host)));
  auto job = std::make_shared<Job>(membership, options);
  std::map<int64_t, std::string> hostOf;
  Between between = own;
  for (int64_t process : membership.processes()) {
    auto note = rendezvous.note(key(process), process);
    if (!note.isOk())
      return rendezvous.giveUp(std::move(note).takeStatus());
    const size_t space = note->find(' ');
    const std::string theirs = note->substr(0, space);
    hostOf[process] = space == std::string::npos ? "" : note->substr(space + 1);
    if ((theirs == nameOf(Between::mpi)) != (own == Between::mpi))
      return rendezvous.giveUp(
          Status(Error::ranksNotConnected,
                 concat("process ", membership.process, " uses ", nameOf(own),
                        " between hosts, but process ", process, " (",
                        membership.ranksText(process), ") uses ", theirs,
                        "; set runtime.between-hosts to the same value in all processes")));
    if (theirs != nameOf(own))
      between = Between::tcp;
  }
  Membership here = membership;
  here.job = concat(membership.job, "/", options.host);
  for (int64_t &process : here.processOfRank) {
    job->hostOfRank.push_back(process < 0 ? "" : hostOf[process]);
    if (job->hostOfRank.back() != options.host)
      process = -1;
  }
  shm::ShmEngine::Options inside;
  inside.arenaBytes = options.arenaBytes;
  inside.timeout = options.timeout;
  inside.connectTimeout = options.connectTimeout;
  auto host = shm::Host::create(here, store, inside);
  if (!host.isOk()) // processes of other hosts wait for this one, too
    return rendezvous.giveUp(std::move(host).takeStatus());
  job->host = *std::move(host);
  if (between == Between::mpi) {
    mpi::MpiEngine::Options outside;
    outside.library = options.mpiLibrary;
    outside.connectTimeout = options.connectTimeout;
    TILEWRIGHT_ASSIGN(job->mesh, mpi::connectCarrier(membership, store, outside, job->meshFailure));
  } else if (between == Between::ucx) {
    ucx::UcxEngine::Options outside;
    outside.connectTimeout = options.connectTimeout;
    TILEWRIGHT_ASSIGN(job->mesh, ucx::connectFabric(membership, store, outside, job->meshFailure));
  } else {
    TILEWRIGHT_ASSIGN(job->mesh, tcp::Mesh::connect(membership, store,
                                                    {options.address, options.connectTimeout},
                                                    job->meshFailure));
  }
  for (int64_t rank : membership.ranksOf(membership.process))
    job->progressEngines[rank] = std::make_unique<HostsProgressEngine>(*job, rank);
  job->progressThread = std::make_unique<ProgressThread>(
      [job = job.get()] {
        bool isMore = false;
        for (auto &[rank, engine] : job->progressEngines)
          isMore |= engine->progress();
        return isMore;
      },
      [job = job.get()] { job->mesh->progress(1ms); });
  return job;
}

HostsEngine::HostsEngine(std::shared_ptr<Job> job) : job(std::move(job)) {}
HostsEngine::~HostsEngine() = default;
void HostsEngine::revoke(const std::string &why) { job->fail(why); }
shm::Arena &HostsEngine::arena() { return *job->host->arena; }
std::shared_ptr<OperandMemory> HostsEngine::operandMemory() { return job->host->arena; }
messages::Traffic HostsEngine::traffic() { return job->mesh->traffic(); }

Result<std::unique_ptr<HostsEngine>>
HostsEngine::connect(const Membership &membership, KeyValueStore &store, const Options &options) {
  TILEWRIGHT_ASSIGN(std::shared_ptr<Job> job, Job::create(membership, store, options));
  return std::unique_ptr<HostsEngine>(new HostsEngine(std::move(job)));
}

Result<std::unique_ptr<Communicator>> HostsEngine::join(const RunMembership &own) {
  const int64_t rank = own.members.empty() ? own.rank : own.members[static_cast<size_t>(own.rank)];
  auto found = job->progressEngines.find(rank);
  if (found == job->progressEngines.end())
    return Status(Error::collectiveGroups,
                  concat("rank ", rank, " is not in process ", job->membership.process));
  return std::unique_ptr<Communicator>(std::make_unique<ProgressRank>(own, *found->second, job));
}

} // namespace tilewright::collective::hosts
