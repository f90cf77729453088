// Connecting: what engines between processes do alike until all ranks of a job have met.
#ifndef TILEWRIGHT_COLLECTIVE_CONNECTING_H
#define TILEWRIGHT_COLLECTIVE_CONNECTING_H

#include "tilewright/collective/Driver.h"

#include <functional>
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

/// What process `process` left under `key`. In small steps, with a look at those who are connected
/// already between them.
///  - ranksNotConnected (E6032): it does not come in time, or somebody died meanwhile.
Result<std::string> awaitNote(KeyValueStore &store, const std::string &key,
                              const Membership &membership, int64_t process, Deadline deadline,
                              const std::function<Status()> &nobodyDied);

/// E6032: a system call failed, for the reason in errno.
Status systemFailure(const std::string &what);
/// E6032: these processes did not come.
Status waitedInVain(const Membership &membership, const std::vector<int64_t> &processes);
/// E6033: `process` has gone on to another epoch.
Status fenced(const Membership &membership, int64_t process, uint64_t epoch);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_CONNECTING_H
