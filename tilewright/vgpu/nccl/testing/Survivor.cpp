#include "tilewright/vgpu/nccl/testing/Survivor.h"

#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/testing/Access.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <numeric>
#include <random>
#include <unistd.h>

namespace tilewright::vgpu::nccl {

using namespace std::chrono_literals;
using collective::Call;
using collective::DeviceClique;
using collective::DeviceCommunicator;
using collective::DeviceEngine;
using collective::Membership;
using collective::membership::Group;
using collective::membership::Reason;
using collective::membership::View;

/// A trial without a fault ends after so many rounds.
static constexpr int rounds = 8;

std::string_view nameOf(Blow blow) {
  static constexpr std::string_view names[] = {
      "kill",         "stop",          "failing call",   "late rank",     "abort in a group",
      "kill in init", "kill in split", "kill on device", "kill in group", "fail in init",
      "fail in split"};
  return names[static_cast<size_t>(blow)];
}

Trial Trial::of(uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15);
  auto below = [&](uint64_t limit) { return static_cast<int>(random() % limit); };
  Trial trial;
  trial.seed = seed;
  trial.blow = static_cast<Blow>(seed % static_cast<uint64_t>(Blow::count));
  trial.ranks = 3 + below(2);
  trial.victim = below(static_cast<uint64_t>(trial.ranks));
  trial.round = below(rounds - 2);
  trial.later = std::chrono::microseconds(below(3000));
  trial.delay = 1 + below(60);
  trial.count = static_cast<size_t>(below(4) == 0 ? 100000 + below(50000) : 1 + below(500));
  return trial;
}

std::string Trial::text() const {
  return concat("seed ", seed, ": ", nameOf(blow), ", rank ", victim, " of ", ranks, ", round ",
                round, ", ", later.count(), " us, ", count, " elements");
}

bool Trial::isKill() const {
  return blow == Blow::kill || blow == Blow::killInInit || blow == Blow::killInSplit ||
         blow == Blow::killOnDevice || blow == Blow::killInGroup;
}

std::string Trial::fault() const {
  switch (blow) {
  case Blow::failingCall:
    return concat("fail call=ncclAllReduce result=3 number=", round + 1);
  case Blow::late:
    return concat("delay call=ncclAllReduce number=", round + 1, " ms=", delay,
                  seed % 2 ? " at=device" : "");
  case Blow::killInInit:
    return "die call=ncclCommInitRankConfig";
  case Blow::killInSplit:
    return "die call=ncclCommSplit";
  case Blow::killOnDevice:
    return concat("die call=ncclAllReduce at=device number=", round + 1);
  case Blow::killInGroup:
    return concat("die call=ncclGroupEnd number=", round + 2);
  case Blow::failInInit:
    return "fail call=ncclCommInitRankConfig result=2";
  case Blow::failInSplit:
    return "fail call=ncclCommSplit result=2";
  default:
    return "";
  }
}

namespace {
class Access final : public DriverAccess {
public:
  explicit Access(RankDevice &device) : device(device) {}
  Status makeCurrent(int64_t) override {
    device.makeCurrent();
    return Status();
  }

private:
  RankDevice &device;
};

/// One rank in one epoch.
class Epoch {
public:
  Epoch(const Trial &trial, int rank, Witness *witnesses, RankDevice &device, DeviceEngine &engine,
        const View &view)
      : trial(trial), rank(rank), own(witnesses[rank]), device(device), engine(engine), view(view) {
  }

  Status work() {
    const std::vector<int64_t> &members = view.members;
    mine = std::find(members.begin(), members.end(), rank) - members.begin();
    const auto size = static_cast<int64_t>(members.size());
    std::vector<std::vector<int64_t>> pairs, halves(2);
    for (int64_t i = 0; i < size; ++i) {
      pairs.push_back({i, (i + 1) % size});
      halves[i < size / 2 ? 0 : 1].push_back(i);
    }
    const std::vector<DeviceClique> cliques = {{{}}, {halves}, {pairs, true}};
    auto made = engine.prepare(members, cliques, after(5s * collective::test::slowness()));
    if (!made.isOk())
      return std::move(made).takeStatus().during("preparing");
    communicator = std::move(made->at(0));
    in = device.upload<float>({}, trial.count);
    out = device.upload<float>({}, trial.count);
    moved = device.upload<float>({}, trial.count);
    own.rounds = 0;
    for (int number = 0; number < rounds; ++number) {
      TILEWRIGHT_TRY(round(number, halves, pairs));
      if (view.epoch > 0 && own.resumed == 0)
        own.resumed = now();
      ++own.rounds;
    }
    return Status();
  }

private:
  bool isVictim() const { return view.epoch == 0 && rank == trial.victim; }
  bool isSignalled() const { return trial.blow == Blow::kill || trial.blow == Blow::stop; }
  /// Different for every rank, round and element, and exact in f32.
  static float valueOf(int64_t process, int number, size_t i) {
    return static_cast<float>(process * 1000 + number * 10 + static_cast<int64_t>(i % 7));
  }

  Status round(int number, const std::vector<std::vector<int64_t>> &halves,
               const std::vector<std::vector<int64_t>> &pairs) {
    if (isVictim() && number == trial.round)
      TILEWRIGHT_TRY(strike());
    // On an idle machine all rounds may take less time than the signal: then some ranks would end
    // and leave, and others would wait for them.
    if (isVictim() && number == rounds - 1 && isSignalled())
      pause();
    std::vector<float> values(trial.count);
    for (size_t i = 0; i < trial.count; ++i)
      values[i] = valueOf(rank, number, i);
    if (cuda().cuMemcpyHtoD_v2(reinterpret_cast<uint64_t>(in), values.data(), trial.count * 4) !=
        CUDA_SUCCESS)
      return Status(Code::internal, "wrong: cannot copy to the device");

    const std::vector<std::vector<int64_t>> all;
    TILEWRIGHT_TRY(enqueue(collective::Kind::allReduce, 0, all, out));
    TILEWRIGHT_TRY(wait());
    TILEWRIGHT_TRY(check(out, number, view.members));

    // Two collectives in a group, in which a victim's other thread may give up.
    TILEWRIGHT_TRY(communicator->beginGroup());
    Status status = enqueue(collective::Kind::permute, 2, pairs, moved);
    std::thread giver;
    if (isVictim() && trial.blow == Blow::abortInGroup && number == trial.round) {
      own.struck = now();
      giver = std::thread([&] { engine.revoke("the program gives up in a group"); });
      std::this_thread::sleep_for(trial.later);
    }
    if (status.isOk())
      status = enqueue(collective::Kind::allReduce, 1, halves, out);
    Status ended = communicator->endGroup();
    if (giver.joinable())
      giver.join();
    TILEWRIGHT_TRY(std::move(status));
    TILEWRIGHT_TRY(std::move(ended));
    TILEWRIGHT_TRY(wait());
    const size_t size = view.members.size();
    TILEWRIGHT_TRY(
        check(moved, number, {view.members[(static_cast<size_t>(mine) + size - 1) % size]}));
    std::vector<int64_t> half;
    for (int64_t member : halves[static_cast<size_t>(mine) < size / 2 ? 0 : 1])
      half.push_back(view.members[static_cast<size_t>(member)]);
    return check(out, number, half);
  }

  Status enqueue(collective::Kind kind, size_t clique,
                 const std::vector<std::vector<int64_t>> &groups, float *to) {
    Call call;
    call.kind = kind;
    call.groups = &groups;
    call.name = kind == collective::Kind::permute ? "permute.1" : "all_reduce.1";
    call.reduction.operation = collective::ReductionKind::add;
    const auto count = static_cast<int64_t>(trial.count);
    call.tensors = {{collective::ElementType::f32,
                     {count},
                     {count},
                     reinterpret_cast<const std::byte *>(in),
                     reinterpret_cast<std::byte *>(to)}};
    return communicator->enqueue(call, clique, device.stream);
  }

  /// Waits for the stream as a runtime does: looks for failures meanwhile.
  Status wait() {
    for (;;) {
      const CUresult state = cuda().cuStreamQuery(device.stream);
      TILEWRIGHT_TRY(communicator->check());
      if (state == CUDA_SUCCESS)
        return Status();
      if (state != CUDA_ERROR_NOT_READY)
        return Status(Code::internal, concat("wrong: the stream failed with ", state));
      usleep(300);
    }
  }

  Status check(float *result, int number, const std::vector<int64_t> &processes) {
    const std::vector<float> got = device.download(result, trial.count);
    for (size_t i = 0; i < trial.count; ++i) {
      float expected = 0;
      for (int64_t process : processes)
        expected += valueOf(process, number, i);
      if (got[i] != expected)
        return Status(Code::internal, concat("wrong: element ", i, " of round ", number, " is ",
                                             got[i], ", expected ", expected));
    }
    return Status();
  }

  Status strike() {
    const int number = trial.blow == Blow::kill ? SIGKILL : trial.blow == Blow::stop ? SIGSTOP : 0;
    if (number != 0)
      std::thread([this, number] {
        std::this_thread::sleep_for(trial.later);
        own.struck = now();
        kill(getpid(), number);
      }).detach();
    return Status();
  }

  const Trial &trial;
  const int rank;
  Witness &own;
  RankDevice &device;
  DeviceEngine &engine;
  const View &view;
  std::unique_ptr<DeviceCommunicator> communicator;
  int64_t mine = 0;
  float *in = nullptr, *out = nullptr, *moved = nullptr;
};
} // namespace

static Status live(const Trial &trial, int rank, Witness *witnesses, KeyValueStore &store) {
  Witness &own = witnesses[rank];
  own.process = getpid();
  RankDevice device(0);
  Access access(device);
  Group::Config config;
  config.process = rank;
  config.processes.resize(static_cast<size_t>(trial.ranks));
  std::iota(config.processes.begin(), config.processes.end(), 0);
  // Eight beats are within the 500 ms in which a stopped process must be noticed.
  config.beat = 40ms * collective::test::slowness() / 4 + 10ms;
  if (collective::test::slowness() == 1)
    config.beat = 40ms;
  TILEWRIGHT_ASSIGN(auto group, Group::join(config, store, after(20s)));
  Membership job;
  job.process = rank;
  job.processOfRank = config.processes;
  collective::nccl::NcclEngine::Options options;
  options.timeout = 20s;
  // All begin in the first epoch, even if it is over already: the others shrink an engine, too.
  View view{0, config.processes};
  std::vector<std::unique_ptr<KeyValueStore>> notes; // of each epoch; outlive the engines
  notes.push_back(group->store(view.epoch));
  TILEWRIGHT_ASSIGN(auto first, collective::nccl::NcclEngine::connect(
                                    view.membershipOf(job), *notes.back(), access, options));
  std::unique_ptr<DeviceEngine> engine = std::move(first);
  for (;;) {
    Status status;
    {
      const auto watch = group->watch(view.epoch, [&](const Reason &why) {
        if (why.process == trial.victim && own.named == 0)
          own.named = now();
        engine->revoke(why.toString(job));
      });
      Epoch epoch(trial, rank, witnesses, device, *engine, view);
      status = epoch.work();
    }
    if (!status.isOk() && view.epoch == 0) {
      own.failed = now();
      // NCCL's error names the process that ended, too.
      const std::string ended =
          concat("process ", witnesses[trial.victim].process.load(), " has ended");
      if (own.named == 0 && status.message().find(ended) != std::string::npos)
        own.named = now();
      std::strncpy(own.text, status.toString().c_str(), sizeof own.text - 1);
    }
    if (status.isOk() || status.code() == Code::internal || view.epoch > 0) {
      engine.reset();
      // Others may still work in this epoch, which ends when a process leaves.
      const Deadline deadline = after(10s);
      for (int64_t other : view.members)
        while (status.isOk() && witnesses[other].rounds < rounds &&
               std::chrono::steady_clock::now() < deadline)
          usleep(500);
      return status;
    }
    // The victim of a fault that did not end it leaves the job.
    if (rank == trial.victim) {
      engine->revoke("this rank leaves");
      engine.reset();
      return Status();
    }
    // Membership knows better which process is to blame, and needs a moment.
    for (int i = 0; i < 100 && !group->whyOver(view.epoch); ++i)
      usleep(300);
    if (const auto why = group->whyOver(view.epoch);
        why && why->process == trial.victim && own.named == 0)
      own.named = now();
    Reason reason;
    reason.rank = rank;
    reason.text = status.message();
    group->revoke(view.epoch, reason);
    TILEWRIGHT_ASSIGN(View next, group->agree(view.epoch, after(20s)));
    // A rank that only left, or failed, may still have been a member when its failure ended the
    // epoch; the view without it follows.
    while (next.has(trial.victim)) {
      TILEWRIGHT_ASSIGN(next, group->agree(next.epoch, after(20s)));
    }
    std::vector<int64_t> without;
    for (int64_t member : view.members)
      if (!next.has(member))
        without.push_back(member);
    own.rounds = 0;
    view = next;
    notes.push_back(group->store(view.epoch));
    auto shrunk = engine->shrink(without, view.epoch, *notes.back(), after(20s));
    if (!shrunk.isOk())
      return std::move(shrunk).takeStatus().during("shrinking");
    engine = *std::move(shrunk);
  }
}

Status survive(const Trial &trial, int rank, Witness *witnesses, KeyValueStore &store) {
  setenv("TILEWRIGHT_VGPU_DEVICES", "1", 1);
  setenv("TILEWRIGHT_VGPU_MEMORY", "64M", 1);
  setenv("TILEWRIGHT_VGPU_THREADS", "1", 1);
  if (rank == trial.victim)
    setenv("TILEWRIGHT_VGPU_NCCL_FAULT", trial.fault().c_str(), 1);
  nccl(); // loads the libraries
  {
    RankDevice warm(0);
  }
  const size_t before = collective::test::Census::take().descriptors;
  TILEWRIGHT_TRY(live(trial, rank, witnesses, store));
  char text[1000] = {};
  auto *leaks = reinterpret_cast<size_t (*)(char *, size_t)>(
      dlsym(nccl().library, "tilewright_vgpu_nccl_leaks"));
  if (leaks(text, sizeof text) != 0)
    return Status(Code::internal, concat("leaked: ", text));
  // A unique id that no rank has used stays open.
  const bool hasUnused = trial.blow == Blow::failInInit && rank == trial.victim;
  size_t later = 0;
  for (int tries = 0; tries < 2000; ++tries) { // work in a stream may be about to end
    later = collective::test::Census::take().descriptors;
    if (later == before || hasUnused)
      return Status();
    usleep(1000);
  }
  return Status(Code::internal,
                concat("leaked: ", later, " descriptors, ", before, " at the begin"));
}

} // namespace tilewright::vgpu::nccl
