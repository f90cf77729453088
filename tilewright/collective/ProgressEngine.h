// ProgressEngine: orders and advances the collectives of multi-process engines, waits for them, and
// handles failures.
#ifndef TILEWRIGHT_COLLECTIVE_PROGRESSENGINE_H
#define TILEWRIGHT_COLLECTIVE_PROGRESSENGINE_H

#include "tilewright/collective/Clique.h"
#include "tilewright/support/store/KeyValueStore.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>
#include <unordered_map>

namespace tilewright::collective {

/// Which process hosts each rank of a job, in one epoch of the job.
struct Membership {
  std::string job = "tilewright"; // prefix of all keys, so that jobs can share a store
  uint64_t epoch = 0;             // increases whenever the members change
  int64_t process = 0;            // the caller's
  /// The process of each rank; negative if this engine does not reach the rank. Process numbers
  /// need not be dense.
  std::vector<int64_t> processOfRank;

  std::vector<int64_t> processes() const; // processes that host ranks, ascending
  std::vector<int64_t> ranksOf(int64_t process) const;
  std::string ranksText(int64_t process) const; // "rank 2", "ranks 2, 3"
};

/// One rank's part of one collective in progress: a state machine that never blocks.
class Operation {
public:
  virtual ~Operation() = default;
  /// Makes as much progress as possible without blocking. Returns true once the results are written
  /// and the operands are no longer read.
  virtual Result<bool> advance() = 0;
  /// Whether this operation still waits for data from this member of the channel.
  virtual bool isMissing(size_t member) const = 0;
};

/// An operation whose advance() returns an error.
class FailedOperation final : public Operation {
public:
  explicit FailedOperation(Status status) : status(std::move(status)) {}
  Result<bool> advance() override { return std::move(status); }
  bool isMissing(size_t) const override { return false; }

private:
  Status status;
};

/// State that an engine keeps per channel.
class ChannelData {
public:
  virtual ~ChannelData() = default;
};

/// The parameters of one collective request.
struct CollectiveRequest {
  const Call *call = nullptr;
  int64_t run = 0;
  uint64_t site = 0;            // siteHash() of the call
  std::string_view text;        // describe() of the call
  size_t bytes = 0;             // of all operands
  Combine combine = nullptr;    // of the first tensor, if it is reduced by an operation
  std::optional<size_t> source; // permute: the member whose operand this one receives
  std::optional<size_t> target; // permute: the member that receives this one's operand
};
struct PendingCollective; // one collective that was started; see ProgressEngine.cpp

/// One rank's queue of the collectives of one clique. They run one after the other, in the order in
/// which they were started, so a member that begins a collective has completed the one before it.
struct OrderedChannel {
  uint64_t id = 0;
  Clique members; // ranks of the engine
  size_t mine = 0;
  // The progress engine guards the members below.
  uint64_t sequence = 0; // of the next collective
  std::deque<PendingCollective *> queue;
  std::unique_ptr<ChannelData> data;
};

/// The reason why an engine stopped. A failure is final for all ranks of the engine; recovery means
/// a new engine with a new epoch. Thread-safe.
class FailureBox {
public:
  bool isSet() const { return has.load(std::memory_order_acquire); }
  /// Only the first failure is kept. Returns false if there was one already.
  bool set(std::string text);
  std::string text() const;

private:
  std::atomic<bool> has = false;
  mutable std::mutex mutex;
  std::string why; // guarded by mutex
};

/// One rank's progress engine. A thread that waits for a collective advances the rank's
/// collectives; the ProgressThread of the engine advances them while no thread waits.
/// Thread-safe.
class ProgressEngine {
public:
  ProgressEngine(int64_t rank, std::chrono::nanoseconds timeout, FailureBox &failure);
  virtual ~ProgressEngine();

  using Ticket = Communicator::Ticket;
  int64_t rank() const { return number; }
  OrderedChannel &channelOf(const Clique &members, uint64_t salt = 0);

  /// Copies the call, because another thread may advance it after this returns.
  Ticket start(OrderedChannel &channel, const CollectiveRequest &request);
  Status finish(Ticket ticket);
  Status run(OrderedChannel &channel, const CollectiveRequest &request);
  /// Drops the run's collectives that are in progress; their memory is not accessed after this
  /// returns. Returns true if there were any.
  bool drop(int64_t run);

  /// For the progress thread: advances all collectives. Returns false if none is in progress or
  /// another thread is advancing them.
  bool progress();

  /// Sets the engine's failure and notifies the other ranks. Does not wait for them.
  virtual void fail(std::string text) = 0;
  virtual void leave(int64_t run) = 0;

protected:
  /// Begins a collective; called when it reaches the head of its channel.
  virtual std::unique_ptr<Operation> begin(OrderedChannel &channel,
                                           const CollectiveRequest &request) = 0;

  /// Called between two attempts to advance, to give data time to arrive. `round` counts attempts
  /// without progress.
  virtual void backOff(uint64_t round) = 0;
  /// Whether the rank sleeps in backOff(round).
  virtual bool isSleepRound(uint64_t round) const = 0;
  /// Called before the first round that sleeps, and when the wait ends.
  virtual void enterSleep() = 0;
  virtual void leaveSleep() = 0;
  /// Publishes what the rank is doing, for peers that wait for it; called together with
  /// enterSleep() and leaveSleep(). During a long wait it is called again, so that a peer whose
  /// deadline passes first can name the culprit.
  virtual void publishStatus(std::string_view status, bool isLong) = 0;
  /// Checks peers for failure: sets the engine's failure if a peer has died or aborted. If a
  /// missing member of the channel will never join this run, returns the reason.
  virtual std::optional<std::string> pollPeers(const OrderedChannel &channel,
                                               const Operation *operation, int64_t run) = 0;
  /// The status that another rank published.
  virtual std::string peerStatus(int64_t rank) = 0;
  /// Called when a collective was started, so that the progress thread advances it.
  virtual void wakeProgressThread() = 0;

private:
  void admit();
  void enqueue(PendingCollective &pending);
  void advanceAll();
  void advance(OrderedChannel &channel);
  Status wait(PendingCollective &pending);
  Status stopped(const Call &call) const;
  std::string waiting(const PendingCollective &pending, bool withTheirs);
  Status stuck(const PendingCollective &pending);

  const int64_t number;
  const std::chrono::nanoseconds timeout;

protected:
  FailureBox &failure;

private:
  std::mutex inboxMutex;
  std::vector<std::unique_ptr<PendingCollective>> inbox; // guarded by inboxMutex
  std::atomic<bool> hasMail = false;                     // the inbox is not empty
  Ticket nextTicket = 1;                                 // guarded by inboxMutex

  std::mutex channelsMutex;
  std::unordered_map<uint64_t, OrderedChannel> channels; // guarded by channelsMutex
  std::mutex progressMutex;
  // `progressMutex` guards the members below and the contents of the channels:
  std::unordered_map<Ticket, std::unique_ptr<PendingCollective>> pendingByTicket;
  std::vector<OrderedChannel *> used;
};

/// Asks the kernel for short time slices for the calling thread (Linux 6.12). When a message wakes
/// it and all cores compute, it then runs soon, and not after the slices of the other threads.
/// Needs no privilege, and takes no more time than before. Returns whether the kernel agreed.
bool askForShortSlices();

/// An engine's progress thread: advances collectives that no other thread waits for, and sleeps
/// while none is in progress.
class ProgressThread {
public:
  /// `progress` advances collectives and returns whether any is left; `rest` waits briefly.
  ProgressThread(std::function<bool()> progress, std::function<void()> rest);
  ~ProgressThread();
  void wake();

private:
  void work();
  const std::function<bool()> progress;
  const std::function<void()> rest;
  std::mutex mutex;
  std::condition_variable changed;
  bool isAwake = false, isOver = false; // guarded by mutex
  std::thread thread;                   // started by the first wake()
};

/// A rank of a run, implemented by the progress engine of the corresponding rank of an engine.
class ProgressRank final : public Communicator {
public:
  /// `keepAlive` owns the engine.
  ProgressRank(RunMembership own, ProgressEngine &engine, std::shared_ptr<void> keepAlive);
  ~ProgressRank() override;
  int64_t rank() const override { return own.rank; }
  int64_t size() const override { return own.ranks; }
  Result<Ticket> start(const Call &call) override;
  Status finish(Ticket ticket) override;
  Status run(const Call &call) override;
  void abandon(const Status &why) override;

private:
  /// A validated call, cached so that each distinct call is validated only once.
  struct CachedCall {
    Call call;
    std::vector<std::vector<int64_t>> groups;
    OrderedChannel *channel = nullptr; // null: the rank takes no part
    std::string text;
    CollectiveRequest request; // without the call
  };
  Result<CachedCall *> validate(const Call &call);

  const RunMembership own;
  ProgressEngine &engine;
  const std::shared_ptr<void> keepAlive;
  std::deque<CachedCall> calls;
  CachedCall *last = nullptr;
  std::vector<Ticket> alone; // collectives in which this rank takes no part
  Ticket nextAlone = Ticket(1) << 63;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PROGRESSENGINE_H
