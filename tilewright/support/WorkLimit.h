// WorkLimit: limits the time and memory of a compilation and reports where it exceeded them.
#ifndef TILEWRIGHT_SUPPORT_WORKLIMIT_H
#define TILEWRIGHT_SUPPORT_WORKLIMIT_H

#include "tilewright/support/Status.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace tilewright {

/// A deadline and a memory limit for work in many parts of the compiler. A thread watches both.
/// Long loops poll mustStop(), which costs one load; when it is true, they return an unfinished
/// result, which is discarded. The code that set the limit reports status() to the user.
///
///   auto limit = std::make_shared<WorkLimit>(WorkLimit::Amounts{.seconds = 10});
///   WorkLimit::Scope scope(limit); // for this thread
///   for (Kernel &kernel : kernels) {
///     if (WorkLimit::mustStop())
///       return WorkLimit::stopAt(concat("kernel ", kernel.name));
///     …
///   }
///
/// Thread-safe. Each thread that takes part in the work needs its own Scope.
class WorkLimit {
public:
  /// 0 means no limit.
  struct Amounts {
    double seconds = 0;
    int64_t bytes = 0; // by how much the memory of the process may grow
  };

  /// Time and memory growth are measured from the construction on.
  explicit WorkLimit(Amounts amounts);
  ~WorkLimit();
  WorkLimit(const WorkLimit &) = delete;
  WorkLimit &operator=(const WorkLimit &) = delete;

  bool isReached() const { return reason.load(std::memory_order_relaxed) != Reason::none; }

  /// Records which work was interrupted when the limit was reached. Only the first call has an
  /// effect: later ones come from code that notices the limit afterwards.
  void noteStop(std::string_view what);
  /// Whether noteStop() was called; if so, callers need not build a description.
  bool isNoted() const { return noted.load(std::memory_order_relaxed); }
  /// Names the current stage of the compilation, for the message.
  void enter(const char *stage) { this->stage.store(stage, std::memory_order_relaxed); }

  /// The error for the user, once the limit is reached.
  ///  - compileDeadline (E2106): more than Amounts::seconds.
  ///  - compileMemory (E2107): more than Amounts::bytes.
  Status status() const;

  /// The limit that applies to this thread; null for none.
  static WorkLimit *current();
  static std::shared_ptr<WorkLimit> share();
  static bool mustStop() {
    const WorkLimit *limit = current();
    return limit && limit->isReached();
  }
  /// For code that stops: records the interrupted work and returns a failure, which the code that
  /// set the limit replaces by status().
  static Status stopAt(std::string_view what);

  /// Makes a limit the current one of this thread; null means none.
  class Scope {
  public:
    explicit Scope(std::shared_ptr<WorkLimit> limit);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    std::shared_ptr<WorkLimit> before;
  };

private:
  enum class Reason : uint8_t { none, seconds, bytes };
  void watch();

  const Amounts amounts;
  const std::chrono::steady_clock::time_point begin;
  const int64_t bytesBefore;
  std::atomic<Reason> reason = Reason::none;
  std::atomic<bool> noted = false;
  std::atomic<const char *> stage = "";
  std::atomic<int64_t> bytesThen = 0; // how much memory had grown when the limit was reached

  mutable std::mutex mutex;
  std::condition_variable finished;
  bool isDone = false; // guarded by mutex
  std::string place;   // guarded by mutex
  std::thread watcher;
};

/// Runs `work`, which cannot be interrupted, and returns true when it has ended. If the calling
/// thread has a limit, `work` runs on another thread; if the limit is reached first, this function
/// abandons that thread and returns false. `work` must therefore own everything it accesses
/// (capture shared pointers). The process waits for abandoned threads when it exits; see
/// leftAlone().
[[nodiscard]] bool finishesInTime(std::function<void()> work);

/// The number of threads of finishesInTime() that are still running. If no call is in progress,
/// these are the abandoned ones.
int leftAlone();

/// Resident memory of this process in bytes; 0 if the system does not report it.
int64_t residentBytes();

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_WORKLIMIT_H
