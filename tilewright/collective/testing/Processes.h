// Processes: child processes for tests, which can be killed and stopped.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_PROCESSES_H
#define TILEWRIGHT_COLLECTIVE_TESTING_PROCESSES_H

#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/testing/Slowness.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tilewright::collective::test {

/// Sends lines of text from a child to the test.
class Report {
public:
  explicit Report(int pipe) : pipe(pipe) {}
  void say(std::string line);

private:
  const int pipe;
};

/// Children that each run a function and share a key-value store in a directory. Start them while
/// the test has only one thread. The destructor kills the remaining children and removes the
/// directory.
class Processes {
public:
  Processes();
  ~Processes();
  Processes(const Processes &) = delete;
  Processes &operator=(const Processes &) = delete;

  using Body = std::function<Status(KeyValueStore &, Report &)>;
  void start(const Body &body);
  void signal(size_t child, int number);
  /// Removes the key-value store, as when its coordinator dies.
  void removeStore();
  /// Waits until the child has sent a line with this text; returns when it was read.
  Deadline awaitText(size_t child, const std::string &text);
  /// Whether a child has ended. Does not block; reads what the child has sent.
  bool hasEnded(size_t child);
  /// Waits for the end of a child: empty if its function succeeded, else the error.
  std::string end(size_t child);
  const std::string &said(size_t child) const { return children[child].text; }

private:
  struct Child {
    pid_t pid = 0;
    int pipe = -1;
    std::string text;
    std::vector<std::pair<size_t, Deadline>> reads; // end position in `text`, and when it was read
    bool isOver = false;
    int status = 0; // valid if isOver
  };
  bool read(Child &child, int milliseconds);
  std::string directory;
  std::vector<Child> children;
};

/// A job with one rank per process.
Membership membershipOf(int64_t process, int64_t processes, uint64_t epoch = 0);

/// Sums `count` ones, and checks that all sums are `expected`.
Status sumOnes(Communicator &communicator, size_t count, float expected);
/// Repeats sumOnes() until it fails.
Status sumForEver(Communicator &communicator, size_t count, float expected,
                  const std::function<void()> &onRound = {});

/// A store in which a late rank of epoch `old` finds the values of epoch `now`.
class StaleStore final : public KeyValueStore {
public:
  StaleStore(KeyValueStore &store, uint64_t old, uint64_t now)
      : store(store), old(concat("/", old, "/")), now(concat("/", now, "/")) {}
  Status put(std::string_view, std::string_view) override { return Status(); }
  Result<std::string> get(std::string_view key, Deadline deadline) override {
    return store.get(moved(key), deadline);
  }
  Result<std::optional<std::string>> tryGet(std::string_view key) override {
    return store.tryGet(moved(key));
  }

private:
  std::string moved(std::string_view key) const {
    std::string other(key);
    const size_t at = other.find(old);
    return at == std::string::npos ? other : other.replace(at, old.size(), now);
  }
  KeyValueStore &store;
  const std::string old, now;
};

/// The resources that this process holds.
struct Census {
  size_t descriptors, threads, mappings;
  static Census take();
};

using tilewright::slowness;

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_PROCESSES_H
