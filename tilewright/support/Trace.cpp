#include "tilewright/support/Trace.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/support/text/Json.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <unordered_set>
#include <vector>

namespace tilewright::trace {

std::atomic<bool> detail::on = false;
thread_local std::string_view detail::current;

namespace {

constexpr size_t maxRecords = 1'000'000;

struct Record {
  const char *category; // null: a counter
  int64_t begin;
  int64_t value; // nanoseconds of a span, value of a counter
  const std::string *name, *source;
};

/// Texts that are kept once, because most events of a thread repeat the ones before.
class Texts {
public:
  /// Valid until clear().
  const std::string *of(std::string_view text) {
    auto found = all.find(text);
    return &*(found != all.end() ? found : all.emplace(text).first);
  }
  void clear() { all.clear(); }

private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> all;
};

/// The events of one thread. Another thread takes its lock only to read the events.
struct Log {
  std::mutex mutex;
  int number = 0;
  std::string threadName;
  std::vector<Record> records;
  Texts texts;
  size_t dropped = 0;
};

struct Recorder {
  std::mutex mutex;
  std::vector<std::shared_ptr<Log>> logs; // also of threads that have ended
  std::atomic<int64_t> zero = 0;
  std::string exitPath; // of writeAtExit; guarded by mutex
};

/// Never destroyed, because threads may record while the process exits.
Recorder &recorder() {
  static auto *instance = new Recorder;
  return *instance;
}

Log &log() {
  static thread_local std::shared_ptr<Log> mine;
  if (!mine) {
    mine = std::make_shared<Log>();
    Recorder &all = recorder();
    std::lock_guard lock(all.mutex);
    mine->number = static_cast<int>(all.logs.size()) + 1;
    all.logs.push_back(mine);
  }
  return *mine;
}

void append(const char *category, std::string_view name, int64_t begin, int64_t value,
            std::string_view source = {}) {
  Log &mine = log();
  std::lock_guard lock(mine.mutex);
  if (mine.records.size() >= maxRecords) {
    ++mine.dropped;
    return;
  }
  mine.records.push_back({category, begin, value, mine.texts.of(name), mine.texts.of(source)});
}

std::string nameOf(const Log &log) {
  std::string name = log.threadName.empty() ? concat("thread ", log.number) : log.threadName;
  if (log.dropped)
    name += concat(" (", log.dropped, " events dropped)");
  return name;
}

/// Begins an event of a thread; its name comes first.
JsonWriter &openEvent(JsonWriter &json, std::string_view name, int64_t thread) {
  json.line().open('{').key("name").text(name);
  return json.key("pid").number(::getpid()).key("tid").number(thread);
}

/// An event without a time, which names a process or a thread.
void writeName(JsonWriter &json, std::string_view what, int64_t thread, std::string_view name) {
  openEvent(json, what, thread).key("ph").text("M");
  json.key("args").open('{').key("name").text(name).close('}').close('}');
}

void writeRecord(JsonWriter &json, const Log &log, const Record &record, int64_t zero) {
  openEvent(json, *record.name, log.number);
  json.key("ts").microseconds(std::max<int64_t>(record.begin - zero, 0));
  if (record.category) {
    json.key("ph").text("X").key("cat").text(record.category);
    json.key("dur").microseconds(record.value);
    if (!record.source->empty())
      json.key("args").open('{').key("source").text(*record.source).close('}');
    json.close('}');
  } else {
    json.key("ph").text("C").key("args").open('{').key("value").number(record.value);
    json.close('}').close('}');
  }
}

} // namespace

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void start() {
  Recorder &all = recorder();
  std::lock_guard lock(all.mutex);
  for (const std::shared_ptr<Log> &one : all.logs) {
    std::lock_guard logLock(one->mutex);
    one->records.clear();
    one->texts.clear();
    one->dropped = 0;
  }
  all.zero = now();
  detail::on = true;
}

void stop() { detail::on = false; }

void nameThread(std::string_view name) {
  Log &mine = log();
  std::lock_guard lock(mine.mutex);
  mine.threadName = name;
}

void span(const char *category, std::string_view name, int64_t begin, int64_t end,
          std::string_view source) {
  append(category, name, begin, end - begin, source);
}

void counter(const char *name, int64_t value) {
  if (isOn())
    append(nullptr, name, now(), value);
}

void countResidentBytes() {
  if (!isOn())
    return;
  counter("resident bytes", residentBytes());
}

std::vector<ThreadEvents> eventsSince(int64_t since) {
  std::vector<ThreadEvents> threads;
  Recorder &all = recorder();
  std::lock_guard lock(all.mutex);
  for (const std::shared_ptr<Log> &one : all.logs) {
    std::lock_guard logLock(one->mutex);
    ThreadEvents thread{one->number, nameOf(*one), {}};
    for (const Record &record : one->records)
      if (record.begin >= since)
        thread.events.push_back(
            {record.category, *record.name, record.begin, record.value, *record.source});
    if (!thread.events.empty())
      threads.push_back(std::move(thread));
  }
  return threads;
}

std::string toJson() {
  Recorder &all = recorder();
  std::lock_guard lock(all.mutex);
  // The machine's boot id and the trace's start time on its monotonic clock; `tilewright comm
  // timeline` uses them to align the timelines of several processes.
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  JsonWriter json;
  json.open('{').key("displayTimeUnit").text("ns").key("otherData").open('{');
  json.key("monotonicZero").number(all.zero.load()).key("pid").number(::getpid());
  json.key("boot").text(boot).close('}').key("traceEvents").open('[');
  writeName(json, "process_name", 0, "tilewright");
  for (const std::shared_ptr<Log> &one : all.logs) {
    std::lock_guard logLock(one->mutex);
    if (one->records.empty())
      continue;
    writeName(json, "thread_name", one->number, nameOf(*one));
    for (const Record &record : one->records)
      writeRecord(json, *one, record, all.zero);
  }
  json.line().close(']').close('}').line();
  return std::move(json).take();
}

Status write(const std::string &given) {
  std::string path = given;
  if (size_t at = path.find("{pid}"); at != path.npos)
    path.replace(at, 5, std::to_string(::getpid()));
  const std::string text = toJson();
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return Status(Error::fileUnwritable, concat("cannot write ", path, ": ", std::strerror(errno)));
  const bool isWritten = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !isWritten)
    return Status(Error::fileUnwritable, concat("cannot write ", path, ": ", std::strerror(errno)));
  return Status();
}

void writeAtExit(const std::string &path) {
  Recorder &all = recorder();
  {
    std::lock_guard lock(all.mutex);
    if (!all.exitPath.empty())
      return;
    all.exitPath = path;
  }
  std::atexit([] {
    if (Status status = writeEarly(); !status.isOk())
      std::fprintf(stderr, "%s\n", status.toString().c_str());
  });
  if (!isOn())
    start();
}

Status writeEarly() {
  std::string path;
  {
    Recorder &all = recorder();
    std::lock_guard lock(all.mutex);
    path = all.exitPath;
  }
  return path.empty() ? Status() : write(path);
}

} // namespace tilewright::trace
