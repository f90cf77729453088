// Group: the processes of a job, which of them are alive, and what they tell each other.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUP_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUP_H

#include "tilewright/collective/membership/View.h"

namespace tilewright::collective::membership {

/// One process's part in a job whose processes may die. They meet once, through a key-value store
/// that is not needed after that. From then on a thread of each process watches the others: whoever
/// ends, falls silent, or is suspected ends the epoch for all of them, and those who are left agree
/// on the next view by themselves, whatever the program does meanwhile.
///
///   TILEWRIGHT_ASSIGN(auto group, Group::meet(offer, store, after(60s)));
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
///     group->revoke(view.epoch, Reason::of(offer.process, status.message()));
///     TILEWRIGHT_ASSIGN(view, group->agree(view.epoch, after(5s)));
///   }
///
/// A process that computes for long is not silent: its thread answers. One that is stopped, or cut
/// off, is out when it comes back, and is told so. The process never ends because of this class.
/// Thread-safe.
class Group {
public:
  struct Offer {
    std::string job = "tilewright"; // in front of all keys in the store
    int64_t process = 0;
    std::vector<int64_t> processes; // all of the job
    uint64_t epoch = 0;             // of the first view
    /// Equal for processes whose connections end only when one of them does; empty: this host's.
    std::string host;
    std::string
        address; // numeric, where other hosts reach this one; empty: the first that is not loopback
    /// How often processes say that they are alive, and after how many of these a silent one is
    /// out. A process counts its own beats, so that one that was stopped accuses nobody.
    std::chrono::nanoseconds beat = std::chrono::milliseconds(50);
    int silentBeats = 8;
  };
  /// Waits for all the others. The store may go away after this.
  ///  - ranksNotConnected (E6032): who did not come.
  ///  - rankFenced (E6033): the others have gone on without this process.
  static Result<std::unique_ptr<Group>> meet(const Offer &offer, KeyValueStore &store,
                                             Deadline deadline);
  /// Leaves the job. The others go on in a new view.
  ~Group();

  /// The last one that was agreed on.
  View view() const;
  /// Why this process is no longer in the job; Ok while it is.
  ///  - rankFenced (E6033): the others have gone on without it.
  ///  - groupMinority (E6040): too few others can be reached, so that they might go on elsewhere.
  ///  - groupUnsettled (E6041): there was no agreement in time.
  Status status() const;

  /// `process` should not be in the next view: a reason to end this epoch. Nothing happens if the
  /// epoch is over already.
  void suspect(uint64_t epoch, int64_t process, std::string evidence);
  /// Ends the epoch for all; everybody who is alive is in the next view.
  void revoke(uint64_t epoch, Reason reason);
  /// The view that follows `epoch`, or a later one. Waits for it, and starts nothing: whoever
  /// wants a new view revokes the old one.
  ///  - groupUnsettled (E6041): the epoch was not ended, or nothing was agreed on, in time.
  ///  - as status()
  Result<View> agree(uint64_t epoch, Deadline deadline);
  /// Why an epoch ended; nothing if it has not.
  std::optional<Reason> whyOver(uint64_t epoch) const;

  /// Calls `onOver` once, when the epoch is over: at once if it is, else on the group's thread.
  /// Not after the watch has been destroyed, which waits for a call under way.
  class Watch;
  using OnOver = std::function<void(const Reason &)>;
  std::unique_ptr<Watch> watch(uint64_t epoch, OnOver onOver);

  /// Notes between the members of a view, carried by their connections. All calls fail when the
  /// epoch is over, so that whoever waits for a note of the dead does so no longer.
  ///  - epochOver (E6042)
  /// Must not outlive the group.
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
