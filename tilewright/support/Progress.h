// A progress line on the terminal for long work.
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

/// Shows `activity`, the elapsed seconds and the text of `describe` on one line, which the
/// destructor erases. Work that takes less than `delay` shows nothing.
///
///   Progress progress("evaluating step.mlirbc", [&] { return concat(context.steps(), " steps");
///   });
///
/// `describe` is called from another thread. Shows nothing if standard error is not a terminal, or
/// if TERM=dumb or CI is set.
class Progress {
public:
  Progress(std::string activity, std::function<std::string()> describe);
  /// For tests: writes to `out` after `delay` and then every `interval`, even if it is not a
  /// terminal.
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
