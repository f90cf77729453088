#include "tilewright/collective/shm/ShmHost.h"
#include "tilewright/support/Concat.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright::collective::shm {

static size_t coresOfThisProcess() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<size_t>(CPU_COUNT(&set));
  return std::thread::hardware_concurrency();
}

static size_t reachable(const Membership &membership) {
  return static_cast<size_t>(std::count_if(membership.processOfRank.begin(),
                                           membership.processOfRank.end(),
                                           [](int64_t process) { return process >= 0; }));
}

void sleepOn(std::atomic<uint32_t> &doorbell, uint32_t seen, std::chrono::nanoseconds longest) {
  const timespec limit = {0, static_cast<long>(std::min<int64_t>(longest.count(), 999'999'999))};
  syscall(SYS_futex, &doorbell, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void Host::ring(ProcessBoard &process) {
  process.doorbell.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &process.doorbell, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void Host::announceSleep() {
  board->sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (!isFenced)
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

/// Registers this process for membarrier. Returns whether one process can issue a memory barrier on
/// behalf of the others.
static bool canMakeOthersPassABarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

Host::Host(const Membership &membership, const ShmEngine::Options &options)
    : membership(membership), options(options),
      canSpin(reachable(membership) <= coresOfThisProcess()),
      isFenced(!canMakeOthersPassABarrier()), peers(membership.processOfRank.size()) {}

Result<std::shared_ptr<Host>> Host::create(const Membership &membership, KeyValueStore &store,
                                           const ShmEngine::Options &options) {
  const std::vector<int64_t> mine = membership.ranksOf(membership.process);
  const size_t reserved = ProcessBoard::bytesFor(mine.size());
  TILEWRIGHT_ASSIGN(std::shared_ptr<Mapping> mapping,
                    Mapping::create(options.arenaBytes + (reserved + 4095) / 4096 * 4096));
  std::shared_ptr<Host> host(new Host(membership, options));
  host->arena = std::make_shared<Arena>(mapping, reserved);
  // Unwritten pages of the file are zero, which is a valid initial state of a board.
  host->board = reinterpret_cast<ProcessBoard *>(mapping->base());
  host->board->magic = boardMagic;
  host->board->epoch = membership.epoch;
  host->board->process = membership.process;
  host->board->ranks = mine.size();
  for (size_t i = 0; i < mine.size(); ++i) {
    host->board->rank(i)->leftRun = -1;
    host->board->rank(i)->status.write("has not joined a collective yet");
  }
  TILEWRIGHT_ASSIGN(host->neighbours,
                    Neighbours::connect(membership, *mapping, store, options.connectTimeout));

  auto addPeers = [&](int64_t process, std::byte *base) {
    auto *board = reinterpret_cast<ProcessBoard *>(base);
    const std::vector<int64_t> ranks = membership.ranksOf(process);
    for (size_t i = 0; i < ranks.size(); ++i)
      host->peers[static_cast<size_t>(ranks[i])] = {board, board->rank(i), base};
  };
  addPeers(membership.process, mapping->base());
  for (Neighbours::Neighbour &neighbour : host->neighbours->all()) {
    const auto *board = reinterpret_cast<const ProcessBoard *>(neighbour.memory->base());
    const std::vector<int64_t> ranks = membership.ranksOf(neighbour.process);
    if (board->magic != boardMagic || board->epoch != membership.epoch ||
        board->process != neighbour.process || board->ranks != ranks.size())
      return Status(Error::rankFenced,
                    concat("the arena of process ", neighbour.process,
                           " claims to belong to process ", board->process, " with ", board->ranks,
                           " ranks in epoch ", board->epoch, ", expected ", ranks.size(),
                           " ranks in epoch ", membership.epoch));
    addPeers(neighbour.process, neighbour.memory->base());
  }
  for (int64_t rank : mine)
    host->progressEngines[rank] = makeProgressEngine(*host, rank);
  host->progressThread = std::make_unique<ProgressThread>(
      [host = host.get()] {
        bool isMore = false;
        for (auto &[rank, engine] : host->progressEngines)
          isMore |= engine->progress();
        return isMore;
      },
      [host = host.get()] {
        // Register as a sleeper, then poll once more. If a peer rings in between, the doorbell
        // changes, so sleepOn() returns at once.
        const uint32_t seen = host->board->doorbell.load(std::memory_order_acquire);
        host->announceSleep();
        for (auto &[rank, engine] : host->progressEngines)
          engine->progress();
        sleepOn(host->board->doorbell, seen, std::chrono::milliseconds(2));
        host->board->sleepers.fetch_sub(1, std::memory_order_relaxed);
      });
  return host;
}

Host::~Host() {
  progressThread.reset();
  if (neighbours) // a process that has not met all its peers does not leave in good order
    board->isLeaving.store(1, std::memory_order_release);
}

void Host::fail(std::string text) {
  if (!failure.set(text))
    return;
  board->failure.write(text);
  board->hasFailed.store(1, std::memory_order_seq_cst);
  ring(*board);
  std::lock_guard lock(looking);
  for (Neighbours::Neighbour &neighbour : neighbours->all())
    ring(*reinterpret_cast<ProcessBoard *>(neighbour.memory->base()));
}

void Host::pollPeers() {
  std::optional<std::string> why;
  {
    std::lock_guard lock(looking);
    neighbours->look();
    for (Neighbours::Neighbour &neighbour : neighbours->all()) {
      const auto &other = *reinterpret_cast<const ProcessBoard *>(neighbour.memory->base());
      if (other.hasFailed.load(std::memory_order_acquire)) {
        why = other.failure.read();
        break;
      }
      if (neighbour.isGone && !other.isLeaving.load(std::memory_order_acquire)) {
        const std::vector<int64_t> ranks = membership.ranksOf(neighbour.process);
        why =
            concat(ranks.size() == 1 ? "rank " : "ranks ",
                   ranks.size() == 1 ? std::to_string(ranks[0]) : listed(ranks), " died: process ",
                   neighbour.process, " (pid ", neighbour.pid, ") on this host has exited");
      }
    }
  }
  if (why)
    fail(*why);
}

bool Host::hasLeft(int64_t rank) const {
  return peer(rank).process->isLeaving.load(std::memory_order_acquire) != 0;
}

ShmEngine::ShmEngine(std::shared_ptr<Host> host) : host(std::move(host)) {}
ShmEngine::~ShmEngine() = default;
void ShmEngine::revoke(const std::string &why) { host->fail(why); }
Arena &ShmEngine::arena() { return *host->arena; }
std::shared_ptr<OperandMemory> ShmEngine::operandMemory() { return host->arena; }
ProgressEngine &ShmEngine::progressEngine(int64_t rank) { return *host->progressEngines.at(rank); }

Result<std::unique_ptr<ShmEngine>>
ShmEngine::connect(const Membership &membership, KeyValueStore &store, const Options &options) {
  TILEWRIGHT_ASSIGN(std::shared_ptr<Host> host, Host::create(membership, store, options));
  return std::unique_ptr<ShmEngine>(new ShmEngine(std::move(host)));
}

Result<std::unique_ptr<Communicator>> ShmEngine::join(const RunMembership &own) {
  const int64_t rank = own.members.empty() ? own.rank : own.members[static_cast<size_t>(own.rank)];
  auto found = host->progressEngines.find(rank);
  if (found == host->progressEngines.end())
    return Status(Error::collectiveGroups,
                  concat("rank ", rank, " is not in process ", host->membership.process));
  return std::unique_ptr<Communicator>(std::make_unique<ProgressRank>(own, *found->second, host));
}

} // namespace tilewright::collective::shm
