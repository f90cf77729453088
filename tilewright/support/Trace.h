// Trace: what happened when on which thread, for a timeline.
#ifndef TILEWRIGHT_SUPPORT_TRACE_H
#define TILEWRIGHT_SUPPORT_TRACE_H

#include "tilewright/support/Status.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Records spans and counters of all threads and writes them as a Chrome trace,
/// which Perfetto opens. Off it costs one relaxed load a span; on, some 50 ns.
///
///   trace::start();
///   { trace::Span span("kernel", step.name); run(step); }
///   TILEWRIGHT_TRY(trace::write("step.trace.json"));
///
/// One recorder for the process: a timeline of half a process is of no use.
/// Thread-safe. Only what writeAtExit() asks for runs when the process ends.
namespace tilewright::trace {

namespace detail {
extern std::atomic<bool> on;
extern thread_local std::string_view current;
} // namespace detail

inline bool isOn() { return detail::on.load(std::memory_order_relaxed); }

/// Forgets what was recorded and begins.
void start();
void stop();

/// Nanoseconds on the clock of the trace.
int64_t now();

/// A span whose begin and end were taken with now(). `category` groups colours and must live for
/// ever ("kernel", "library", "compile", "copy"); `name` is copied.
void span(const char *category, std::string_view name, int64_t begin, int64_t end);

/// The name of the innermost open Span of the calling thread, for work that it hands to others;
/// empty while off. Valid as long as that span.
inline std::string_view currentName() { return isOn() ? detail::current : std::string_view(); }

/// How a timeline names the calling thread. Kept also while off.
void nameThread(std::string_view name);

/// The time from construction to destruction, as span(). `name` must live as long as this.
class Span {
public:
  Span(const char *category, std::string_view name)
      : category(isOn() ? category : nullptr), name(name) {
    if (this->category) {
      outer = std::exchange(detail::current, name);
      begin = now();
    }
  }
  ~Span() {
    if (category) {
      span(category, name, begin, now());
      detail::current = outer;
    }
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

private:
  const char *category; // null: off when it began
  std::string_view name, outer;
  int64_t begin = 0;
};

/// A value that a timeline draws as a curve: "bytes in use". `name` must live for ever.
void counter(const char *name, int64_t value);

/// The counter "resident bytes": what the process holds of the machine's memory. Nothing while off;
/// on, it reads a file of /proc, some microseconds.
void countResidentBytes();

/// One span, or one value of a counter.
struct Event {
  const char *category; // null: a counter
  std::string name;
  int64_t begin; // on the clock of now()
  int64_t value; // nanoseconds of a span, value of a counter
};
struct ThreadEvents {
  int number;
  std::string name;
  std::vector<Event> events; // in the order in which they ended
};
/// What began at or after `since`, of threads that have any of it.
std::vector<ThreadEvents> eventsSince(int64_t since);

/// What was recorded so far. Events beyond a million for one thread are counted, not kept.
std::string toJson();
/// `{pid}` in the path is the number of this process, for programs that start others.
Status write(const std::string &path);

/// Begins, unless it is on already, and writes to `path` when the process ends by itself: for
/// libraries that are not told when their user is done. The first path of a process counts.
/// A failure then is a line on standard error.
void writeAtExit(const std::string &path);
/// Does now what writeAtExit() left for later, and again later. Nothing if that was not called.
Status writeEarly();

} // namespace tilewright::trace

#endif // TILEWRIGHT_SUPPORT_TRACE_H
