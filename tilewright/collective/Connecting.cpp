#include "tilewright/collective/Connecting.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace tilewright::collective {

bool awaitEvent(int descriptor, short events, Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  pollfd poll = {descriptor, events, 0};
  return ::poll(&poll, 1, static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1'000'000))) ==
         1;
}

std::string Rendezvous::keyOf(int64_t process) const {
  return concat(membership.job, "/gave-up/", membership.epoch, "/", process);
}

Status Rendezvous::blame(int64_t process, Status otherwise) {
  // The connection may close before the peer's reason is visible in the store, so wait briefly.
  for (const Deadline soon = after(std::chrono::milliseconds(20));;) {
    TILEWRIGHT_TRY(checkGaveUp({&process, 1}));
    if (std::chrono::steady_clock::now() >= soon)
      return otherwise;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status Rendezvous::giveUp(Status why) {
  (void)store.put(keyOf(membership.process), why.message());
  return why;
}

Status Rendezvous::checkGaveUp(std::span<const int64_t> missing) {
  for (int64_t process : missing) {
    TILEWRIGHT_ASSIGN(std::optional<std::string> why, store.tryGet(keyOf(process)));
    if (why)
      return Status(Error::ranksNotConnected,
                    concat(membership.ranksText(process), " gave up connecting: ", *why));
  }
  return Status();
}

Status Rendezvous::checkPeers(std::span<const int64_t> missing) {
  if (checkConnected)
    TILEWRIGHT_TRY(checkConnected());
  return checkGaveUp(missing);
}

Result<std::string> Rendezvous::note(const std::string &key, int64_t process) {
  std::chrono::microseconds pause(100);
  while (true) {
    TILEWRIGHT_ASSIGN(std::optional<std::string> note, store.tryGet(key));
    if (note)
      return *std::move(note);
    TILEWRIGHT_TRY(checkPeers({&process, 1}));
    // The missing process may time out at the same moment and publish a more precise reason; allow
    // it 20 ms.
    if (std::chrono::steady_clock::now() >= deadline + std::chrono::milliseconds(20))
      return Status(Error::ranksNotConnected,
                    concat("process ", membership.process, " timed out waiting for ",
                           membership.ranksText(process), " to connect: it did not write '", key,
                           "' to the key-value store"));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
}

Result<bool> Rendezvous::event(int descriptor, short events, std::span<const int64_t> missing,
                               Deadline until) {
  until = std::min(until, deadline);
  constexpr auto moment = std::chrono::milliseconds(10);
  // Query the store for one missing process per step, because queries to a remote store are slow.
  for (size_t next = 0; !awaitEvent(descriptor, events, std::min(until, after(moment)));
       next = (next + 1) % missing.size()) {
    TILEWRIGHT_TRY(checkPeers(missing.subspan(next, 1)));
    if (std::chrono::steady_clock::now() >= until)
      return false;
  }
  return true;
}

Status systemFailure(const std::string &what) {
  return Status(Error::ranksNotConnected, concat(what, " failed: ", std::strerror(errno)));
}

Status connectTimedOut(const Membership &membership, const std::vector<int64_t> &processes) {
  std::string missing;
  for (int64_t process : processes)
    missing += (missing.empty() ? "" : ", ") + membership.ranksText(process);
  return Status(
      Error::ranksNotConnected,
      concat("process ", membership.process, " timed out waiting for ", missing, " to connect"));
}

Status fenced(const Membership &membership, int64_t process, uint64_t epoch) {
  return Status(Error::rankFenced,
                concat("process ", membership.process, " connected to ",
                       membership.ranksText(process), " with epoch ", membership.epoch,
                       ", but the current epoch is ", epoch, "; an evicted process must rejoin"));
}

} // namespace tilewright::collective
