#include "tilewright/collective/Connecting.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace tilewright::collective {

Descriptor::~Descriptor() {
  if (number >= 0)
    close(number);
}

void Descriptor::reset(int other) {
  if (number >= 0)
    close(number);
  number = other;
}

bool awaitEvent(int descriptor, short events, Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  pollfd poll = {descriptor, events, 0};
  return ::poll(&poll, 1, static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1'000'000))) ==
         1;
}

Result<std::string> awaitNote(KeyValueStore &store, const std::string &key,
                              const Membership &membership, int64_t process, Deadline deadline,
                              const std::function<Status()> &nobodyDied) {
  std::chrono::microseconds pause(100);
  while (true) {
    TILEWRIGHT_ASSIGN(std::optional<std::string> note, store.tryGet(key));
    if (note)
      return *std::move(note);
    TILEWRIGHT_TRY(nobodyDied());
    if (std::chrono::steady_clock::now() >= deadline)
      return Status(Error::ranksNotConnected,
                    concat("process ", membership.process, " waited for ",
                           membership.ranksText(process), " to come: nobody wrote '", key,
                           "' in the key-value store in time"));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
}

Status systemFailure(const std::string &what) {
  return Status(Error::ranksNotConnected, concat(what, " failed: ", std::strerror(errno)));
}

Status waitedInVain(const Membership &membership, const std::vector<int64_t> &processes) {
  std::string missing;
  for (int64_t process : processes)
    missing += (missing.empty() ? "" : ", ") + membership.ranksText(process);
  return Status(Error::ranksNotConnected, concat("process ", membership.process,
                                                 " waited in vain for ", missing, " to come"));
}

Status fenced(const Membership &membership, int64_t process, uint64_t epoch) {
  return Status(Error::rankFenced,
                concat("process ", membership.process, " came to ", membership.ranksText(process),
                       " with epoch ", membership.epoch, ", which has epoch ", epoch,
                       "; whoever was given up must join anew"));
}

} // namespace tilewright::collective
