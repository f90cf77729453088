// Trace: records the activity of each thread for a timeline.
#ifndef TILEWRIGHT_SUPPORT_TRACE_H
#define TILEWRIGHT_SUPPORT_TRACE_H

#include "tilewright/support/Status.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Records spans and counters of all threads and writes them as a Chrome trace, which Perfetto
/// opens. While off, a span costs one relaxed load; while on, about 50 ns.
///
///   trace::start();
///   { trace::Span span("kernel", step.name); run(step); }
///   TILEWRIGHT_TRY(trace::write("step.trace.json"));
///
/// The process has a single recorder, because a timeline is useful only if it shows all threads.
/// Thread-safe. Nothing runs at process exit unless writeAtExit() was called.
namespace tilewright::trace {

namespace detail {
extern std::atomic<bool> on;
extern thread_local std::string_view current;
} // namespace detail

inline bool isOn() { return detail::on.load(std::memory_order_relaxed); }

/// Discards recorded events and starts recording.
void start();
void stop();

/// Nanoseconds on the clock of the trace.
int64_t now();

/// Records a span between two times of now(). `category` selects its colour and must have static
/// lifetime ("kernel", "library", "compile", "copy"); `name` is copied. `source` says what in the
/// user's program it is, or is empty.
void span(const char *category, std::string_view name, int64_t begin, int64_t end,
          std::string_view source = {});

/// The name of the innermost open Span of the calling thread, for work that it passes to other
/// threads. Empty while off. Valid as long as that span.
inline std::string_view currentName() { return isOn() ? detail::current : std::string_view(); }

/// Names the calling thread in timelines. Has an effect even while recording is off.
void nameThread(std::string_view name);

/// Records the time from construction to destruction, as span() does. `name` and `source` must
/// outlive the object.
class Span {
public:
  Span(const char *category, std::string_view name, std::string_view source = {})
      : category(isOn() ? category : nullptr), name(name), source(source) {
    if (this->category) {
      outer = std::exchange(detail::current, name);
      begin = now();
    }
  }
  ~Span() {
    if (category) {
      span(category, name, begin, now(), source);
      detail::current = outer;
    }
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

private:
  const char *category; // null: tracing was off when the span began
  std::string_view name, source, outer;
  int64_t begin = 0;
};

/// Records a value of a counter, such as "bytes in use", which a timeline draws as a curve. `name`
/// must have static lifetime.
void counter(const char *name, int64_t value);

/// Records the counter "resident bytes", the resident memory of the process. Does nothing while
/// off; while on, reads a file in /proc, which takes a few microseconds.
void countResidentBytes();

/// One span, or one value of a counter.
struct Event {
  const char *category; // null: a counter
  std::string name;
  int64_t begin; // on the clock of now()
  int64_t value; // nanoseconds of a span, value of a counter
  std::string source = {};
};
struct ThreadEvents {
  int number;
  std::string name;
  std::vector<Event> events; // in the order in which they ended
};
/// The events that began at or after `since`, by thread; threads without events are omitted.
std::vector<ThreadEvents> eventsSince(int64_t since);

/// The events recorded so far. Each thread keeps at most a million events and only counts the
/// others.
std::string toJson();
/// Writes the trace. `{pid}` in the path is replaced by this process's id, for programs that start
/// other processes.
Status write(const std::string &path);

/// Starts recording, unless it is already on, and writes to `path` when the process exits normally.
/// For libraries that are not notified when their user is done. Later calls with another path have
/// no effect. A failure to write is reported on standard error.
void writeAtExit(const std::string &path);
/// Writes the trace to the path of writeAtExit() now; it is written again at exit. Does nothing if
/// writeAtExit() was not called.
Status writeEarly();

} // namespace tilewright::trace

#endif // TILEWRIGHT_SUPPORT_TRACE_H
