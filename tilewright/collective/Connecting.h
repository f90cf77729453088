// Connecting: what engines between processes do alike until all ranks of a job have met.
#ifndef TILEWRIGHT_COLLECTIVE_CONNECTING_H
#define TILEWRIGHT_COLLECTIVE_CONNECTING_H

#include "tilewright/collective/Driver.h"

#include <functional>
#include <span>
#include <utility>

namespace tilewright::collective {

/// A file descriptor that is closed with this.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  ~Descriptor();
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return number; }
  int release() { return std::exchange(number, -1); }
  void reset(int other); // closes what it had

private:
  int number;
};

/// Whether one of poll()'s `events` happens in time.
bool awaitEvent(int descriptor, short events, Deadline deadline);

/// How a process waits for others until all have met: in small steps, with a look between them at
/// those who are connected already, and at what the key-value store says about those who are not.
/// Who gives up says why, in the store: so all name the one to blame, and nobody waits for those
/// who do not wait any more. A store that fails ends every wait.
class Rendezvous {
public:
  /// `nobodyDied` looks at those who are connected.
  Rendezvous(const Membership &membership, KeyValueStore &store, Deadline deadline,
             std::function<Status()> nobodyDied = {})
      : deadline(deadline), membership(membership), store(store),
        nobodyDied(std::move(nobodyDied)) {}

  /// What process `process` left under `key`.
  ///  - ranksNotConnected (E6032): it does not come in time, or somebody died meanwhile.
  Result<std::string> note(const std::string &key, int64_t process);
  /// Waits until one of poll()'s `events` happens; false if it does not by `until` or in time.
  ///  - ranksNotConnected (E6032): somebody died, or one of these gave up.
  Result<bool> event(int descriptor, short events, std::span<const int64_t> missing,
                     Deadline until = Deadline::max());
  /// Why a process gave up, if it said so; else `otherwise`.
  Status blame(int64_t process, Status otherwise);
  /// Says why this process gives up.
  Status giveUp(Status why);

  const Deadline deadline;

private:
  Status stillWorthIt(std::span<const int64_t> missing);
  Status nobodyGaveUp(std::span<const int64_t> missing);
  std::string keyOf(int64_t process) const;
  const Membership &membership;
  KeyValueStore &store;
  const std::function<Status()> nobodyDied;
};

/// E6032: a system call failed, for the reason in errno.
Status systemFailure(const std::string &what);
/// E6032: these processes did not come.
Status waitedInVain(const Membership &membership, const std::vector<int64_t> &processes);
/// E6033: `process` has gone on to another epoch.
Status fenced(const Membership &membership, int64_t process, uint64_t epoch);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_CONNECTING_H
