// Connecting: the rendezvous code that all multi-process engines share.
#ifndef TILEWRIGHT_COLLECTIVE_CONNECTING_H
#define TILEWRIGHT_COLLECTIVE_CONNECTING_H

#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/support/store/Descriptor.h"

#include <functional>
#include <span>
#include <utility>

namespace tilewright::collective {

/// Whether one of poll()'s `events` happens before the deadline.
bool awaitEvent(int descriptor, short events, Deadline deadline);

/// Waits for peers during rendezvous, in small steps. Between steps it checks the peers that are
/// already connected, and reads from the key-value store whether a missing peer has given up. A
/// process that gives up publishes its reason in the store. So all processes report the same
/// culprit, and none waits for a peer that has stopped waiting. A failure of the store ends every
/// wait.
class Rendezvous {
public:
  /// `checkConnected` fails if a peer that has already connected has died or failed; it is called
  /// between the steps of a wait.
  Rendezvous(const Membership &membership, KeyValueStore &store, Deadline deadline,
             std::function<Status()> checkConnected = {})
      : deadline(deadline), membership(membership), store(store),
        checkConnected(std::move(checkConnected)) {}

  /// The value that process `process` published under `key`.
  ///  - ranksNotConnected (E6032): it was not published in time, or a connected peer died.
  Result<std::string> note(const std::string &key, int64_t process);
  /// Waits for one of poll()'s `events`; false if none happens before `until` and `deadline`.
  ///  - ranksNotConnected (E6032): a connected peer died, or one of `missing` gave up.
  Result<bool> event(int descriptor, short events, std::span<const int64_t> missing,
                     Deadline until = Deadline::max());
  /// The reason that `process` published when it gave up; `otherwise` if it published none.
  Status blame(int64_t process, Status otherwise);
  /// Publishes `why` as the reason why this process gives up.
  Status giveUp(Status why);

  const Deadline deadline;

private:
  Status checkPeers(std::span<const int64_t> missing);
  Status checkGaveUp(std::span<const int64_t> missing);
  std::string keyOf(int64_t process) const;
  const Membership &membership;
  KeyValueStore &store;
  const std::function<Status()> checkConnected;
};

/// E6032: a system call failed; errno gives the reason.
Status systemFailure(const std::string &what);
/// E6032: these processes did not connect in time.
Status connectTimedOut(const Membership &membership, const std::vector<int64_t> &processes);
/// E6033: `process` is in epoch `epoch`, so it rejects this process's stale epoch.
Status fenced(const Membership &membership, int64_t process, uint64_t epoch);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_CONNECTING_H
