// Driver: what engines between processes share: order, overlap, waiting and failing.
#ifndef TILEWRIGHT_COLLECTIVE_DRIVER_H
#define TILEWRIGHT_COLLECTIVE_DRIVER_H

#include "tilewright/collective/Clique.h"
#include "tilewright/collective/KeyValueStore.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>
#include <unordered_map>

namespace tilewright::collective {

/// Which process each rank of a job lives in, in one generation of the job.
struct Membership {
  std::string job = "tilewright"; // in front of all keys, so that jobs may share a store
  uint64_t epoch = 0;             // goes up whenever the members change
  int64_t process = 0;            // the caller's
  /// By rank; negative: a rank that this engine does not reach. Numbers need not be dense.
  std::vector<int64_t> processOfRank;

  std::vector<int64_t> processes() const; // those with ranks, ascending
  std::vector<int64_t> ranksOf(int64_t process) const;
  std::string ranksText(int64_t process) const; // "rank 2", "ranks 2, 3"
};

/// One collective of one rank under way: something that can be pushed on without waiting.
class Operation {
public:
  virtual ~Operation() = default;
  /// Does what can be done now. True: the results are written, and nobody needs the operands.
  virtual Result<bool> advance() = 0;
  /// Whether it cannot go on without this member of the lane.
  virtual bool isMissing(size_t member) const = 0;
};

/// One that cannot begin.
class FailedOperation final : public Operation {
public:
  explicit FailedOperation(Status status) : status(std::move(status)) {}
  Result<bool> advance() override { return std::move(status); }
  bool isMissing(size_t) const override { return false; }

private:
  Status status;
};

/// What an engine keeps for a lane.
class LaneData {
public:
  virtual ~LaneData() = default;
};

/// What an operation is made of.
struct Turn {
  const Call *call = nullptr;
  int64_t run = 0;
  uint64_t site = 0;            // siteHash() of the call
  std::string_view text;        // describe() of the call
  size_t bytes = 0;             // of all operands
  Combine combine = nullptr;    // of the first tensor, if it is reduced by an operation
  std::optional<size_t> source; // permute: the member whose operand comes
  std::optional<size_t> target; // permute: the member that gets this one's
};
struct Entry; // one collective that was started; Driver.cpp

/// The collectives of one clique as one rank does them: one after the other, in the order in
/// which they were started. So whoever comes to the next one is done with the one before.
struct Lane {
  uint64_t id = 0;
  Clique members; // ranks of the engine
  size_t mine = 0;
  // What follows is guarded by the driver.
  uint64_t sequence = 0; // of the next collective
  std::deque<Entry *> queue;
  std::unique_ptr<LaneData> data;
};

/// Why an engine stopped, for all its ranks and for good: what comes after a failure is a new
/// engine with a new epoch. Thread-safe.
class FailureBox {
public:
  bool isSet() const { return has.load(std::memory_order_acquire); }
  /// The first failure stays. False if there was one.
  bool set(std::string text);
  std::string text() const;

private:
  std::atomic<bool> has = false;
  mutable std::mutex mutex;
  std::string why; // guarded by mutex
};

/// One rank of an engine. Collectives are pushed on by whoever waits for one of them, or by the
/// engine's helper while nobody does. Thread-safe.
class Driver {
public:
  Driver(int64_t rank, std::chrono::nanoseconds patience, FailureBox &failure);
  virtual ~Driver();

  using Ticket = Communicator::Ticket;
  int64_t rank() const { return number; }
  Lane &laneOf(const Clique &members, uint64_t salt = 0);

  /// The call is copied if it is to be pushed on by others.
  Ticket start(Lane &lane, const Turn &turn);
  Status finish(Ticket ticket);
  Status run(Lane &lane, const Turn &turn);
  /// Forgets what is under way; its memory is not touched after this. True if there was something.
  bool drop(int64_t run);

  /// For the helper: pushes everything on. False if nothing is under way, or somebody is at it.
  bool help();

  /// Sets the engine's failure and tells the others. Does not wait.
  virtual void fail(std::string text) = 0;
  virtual void leave(int64_t run) = 0;

protected:
  /// Called in the order of the lane, when it is the collective's turn.
  virtual std::unique_ptr<Operation> begin(Lane &lane, const Turn &turn) = 0;

  /// Something may have come: called between two tries. `round` counts the tries in vain.
  virtual void idle(uint64_t round) = 0;
  /// Whether the rank sleeps in idle(round).
  virtual bool isPatient(uint64_t round) const = 0;
  /// Called before the first such round and when the wait is over.
  virtual void settle() = 0;
  virtual void rise() = 0;
  /// Where the rank is, for others who wait for it: called with settle() and rise(). A long wait
  /// says so again, so that those whose deadline passes first can name who is to blame.
  virtual void say(std::string_view where, bool isLong) = 0;
  /// Looks after the others: sets the failure if one has died or given up. Returns why one of the
  /// members that are missing will never come to this run.
  virtual std::optional<std::string> lookAround(const Lane &lane, const Operation *operation,
                                                int64_t run) = 0;
  /// What another rank says about where it is.
  virtual std::string whereIs(int64_t rank) = 0;
  /// A collective was started that somebody else should push on.
  virtual void wakeHelper() = 0;

private:
  void admit();
  void enqueue(Entry &entry);
  void advanceAll();
  void advance(Lane &lane);
  Status wait(Entry &entry);
  Status stopped(const Call &call) const;
  std::string waiting(const Entry &entry, bool withTheirs);
  Status stuck(const Entry &entry);

  const int64_t number;
  const std::chrono::nanoseconds patience;

protected:
  FailureBox &failure;

private:
  std::mutex inboxMutex;
  std::vector<std::unique_ptr<Entry>> inbox; // guarded by inboxMutex
  std::atomic<bool> hasMail = false;         // the inbox is not empty
  Ticket nextTicket = 1;                     // guarded by inboxMutex

  std::mutex lanesMutex;
  std::unordered_map<uint64_t, Lane> lanes; // guarded by lanesMutex
  std::mutex driving;
  // guarded by driving, as is what is in the lanes:
  std::unordered_map<Ticket, std::unique_ptr<Entry>> entries;
  std::vector<Lane *> used;
};

/// The thread of an engine that pushes on what nobody waits for. Sleeps while there is nothing.
class Helper {
public:
  /// `help` pushes on and says whether there is something left; `rest` waits a moment for more.
  Helper(std::function<bool()> help, std::function<void()> rest);
  ~Helper();
  void wake();

private:
  void work();
  const std::function<bool()> help;
  const std::function<void()> rest;
  std::mutex mutex;
  std::condition_variable changed;
  bool isAwake = false, isOver = false; // guarded by mutex
  std::thread thread;                   // begins with the first wake()
};

/// A rank of a run, over the driver of a rank of an engine.
class DrivenRank final : public Communicator {
public:
  /// `keepAlive` is what owns the driver.
  DrivenRank(Seat seat, Driver &driver, std::shared_ptr<void> keepAlive);
  ~DrivenRank() override;
  int64_t rank() const override { return seat.rank; }
  int64_t size() const override { return seat.ranks; }
  Result<Ticket> start(const Call &call) override;
  Status finish(Ticket ticket) override;
  Status run(const Call &call) override;
  void abandon(const Status &why) override;

private:
  /// A call that was checked before, so that it is checked once and not each time.
  struct Known {
    Call call;
    std::string operation; // the call refers to it
    std::vector<std::vector<int64_t>> groups;
    Lane *lane = nullptr; // null: the rank takes no part
    std::string text;
    Turn turn; // without the call

    Turn turnOf(const Call &call) const {
      Turn copy = turn;
      copy.call = &call;
      return copy;
    }
  };
  Result<Known *> known(const Call &call);

  const Seat seat;
  Driver &driver;
  const std::shared_ptr<void> keepAlive;
  std::deque<Known> calls;
  Known *last = nullptr;
  std::vector<Ticket> alone; // collectives that this rank takes no part in
  Ticket nextAlone = Ticket(1) << 63;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_DRIVER_H
