// Group: the processes of a job, their failure detection, and messages between them.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUP_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUP_H

#include "tilewright/collective/membership/View.h"

#include <algorithm>
#include <optional>

namespace tilewright::collective::membership {

/// One process's membership in a job whose processes may die. The processes rendezvous once,
/// through a key-value store that is not needed afterwards. From then on a thread of each process
/// monitors the other processes. If a process ends, falls silent or is suspected, the epoch ends
/// for all processes, and the survivors agree on the next view in the background, whatever the
/// program is doing.
///
///   TILEWRIGHT_ASSIGN(auto group, Group::join(config, store, after(60s)));
///   View view = group->view();
///   while (true) {
///     TILEWRIGHT_ASSIGN(auto engine, ShmEngine::connect(view.membershipOf(job),
///                                                       *group->store(view.epoch), {}));
///     auto watch = group->watch(view.epoch, [&](const Reason &why) {
///       engine->revoke(why.toString());
///     });
///     Status status = train(*engine);
///     if (status.isOk())
///       break;
///     group->revoke(view.epoch, Reason::of(config.process, status.message()));
///     TILEWRIGHT_ASSIGN(view, group->agree(view.epoch, after(5s)));
///   }
///
/// A process that computes for a long time is not silent: its membership thread answers. A process
/// that was stopped or disconnected learns that it was evicted when it resumes. This class never
/// terminates the process. Thread-safe.
class Group {
public:
  struct Config {
    std::string job = "tilewright"; // prefix of all keys in the store
    int64_t process = 0;
    std::vector<int64_t> processes; // all processes of the job, in order
    uint64_t epoch = 0;             // of the first view
    /// A name that is the same for all processes of a host. Between such processes, the end of a
    /// connection proves that the peer has ended. Empty means the name of this host.
    std::string host;
    std::string
        address; // numeric, where other hosts reach this one; empty: the first that is not loopback
    /// The heartbeat interval, and the number of beats of silence after which a process is
    /// suspected. Each process counts its own beats, so a process that was stopped does not accuse
    /// others when it resumes.
    std::chrono::nanoseconds beat = std::chrono::milliseconds(50);
    int silentBeats = 8;
    /// Up to this number of processes, all are connected to each other. In a larger job a process
    /// is connected to at most 2 log2(n) others (Overlay), which forward messages.
    size_t dense = 64;

    /// The position of a process in `processes`.
    std::optional<size_t> placeOf(int64_t process) const {
      const auto found = std::lower_bound(processes.begin(), processes.end(), process);
      if (found == processes.end() || *found != process)
        return std::nullopt;
      return static_cast<size_t>(found - processes.begin());
    }
  };
  /// Waits for all other processes. The store is not used after this returns.
  ///  - ranksNotConnected (E6032): a process did not connect; the message names it.
  ///  - rankFenced (E6033): the other processes have continued without this one.
  static Result<std::unique_ptr<Group>> join(const Config &config, KeyValueStore &store,
                                             Deadline deadline);
  /// Leaves the job. The other processes continue in a new view.
  ~Group();
  /// Leaves the job now; all waits of this process return Code::cancelled.
  void leave();

  /// The latest view that the processes agreed on.
  View view() const;
  /// Why this process is no longer in the job; OK while it is a member.
  ///  - rankFenced (E6033): the other processes have continued without it.
  ///  - groupMinority (E6040): it reaches too few processes, so a majority may continue without it.
  ///  - groupUnsettled (E6041): the processes did not agree in time.
  Status status() const;

  /// Ends the epoch in order to exclude `process` from the next view. Does nothing if the epoch is
  /// already over.
  void suspect(uint64_t epoch, int64_t process, std::string evidence);
  /// Ends the epoch for all processes; all live processes are in the next view.
  void revoke(uint64_t epoch, Reason reason);
  /// Waits for the view that follows `epoch`, or a later one. Does not end the epoch: a caller that
  /// wants a new view must revoke the old one.
  ///  - groupUnsettled (E6041): the epoch did not end in time, or the processes did not agree in
  ///    time.
  ///  - the errors of status()
  Result<View> agree(uint64_t epoch, Deadline deadline);
  /// Why an epoch ended; empty if it has not ended.
  std::optional<Reason> whyOver(uint64_t epoch) const;

  /// Calls `onOver` once, when the epoch is over: immediately if it already is, otherwise on the
  /// group's thread. Destroying the watch waits for a running call; no call begins after that.
  class Watch;
  using OnOver = std::function<void(const Reason &)>;
  std::unique_ptr<Watch> watch(uint64_t epoch, OnOver onOver);

  /// A key-value store for the members of a view, over their connections. All calls fail when the
  /// epoch is over, so that no process keeps waiting for a value from a dead process. Must not
  /// outlive the group.
  ///  - epochOver (E6042)
  std::unique_ptr<KeyValueStore> store(uint64_t epoch);

private:
  class Body; // Group.cpp
  explicit Group(std::unique_ptr<Body> body);
  const std::unique_ptr<Body> body;
};

/// See Group::watch.
class Group::Watch {
public:
  virtual ~Watch() = default;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUP_H
