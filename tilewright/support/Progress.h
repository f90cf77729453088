// One line on the terminal that says what long work is doing.
#ifndef TILEWRIGHT_SUPPORT_PROGRESS_H
#define TILEWRIGHT_SUPPORT_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

namespace tilewright {

/// Shows `activity`, the seconds gone and what `describe` says, from the first
/// `delay` until it is destroyed, then wipes the line. Short work shows nothing.
///
///   Progress progress("evaluating step.mlirbc", [&] { return concat(context.steps(), " steps");
///   });
///
/// `describe` is called from another thread. Silent where standard error is not
/// a terminal, and where TERM=dumb or CI is set.
class Progress {
public:
  Progress(std::string activity, std::function<std::string()> describe);
  /// For tests: writes to `out` after `delay`, every `interval`, terminal or not.
  Progress(std::string activity, std::function<std::string()> describe, std::ostream &out,
           std::chrono::milliseconds delay, std::chrono::milliseconds interval);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  void show(std::string activity, std::function<std::string()> describe, std::ostream &out,
            std::chrono::milliseconds delay, std::chrono::milliseconds interval);

  std::mutex mutex;
  std::condition_variable finished;
  bool done = false; // guarded by mutex
  std::thread painter;
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_PROGRESS_H
