#include "tilewright/support/WorkLimit.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <pthread.h>
#include <unistd.h>
#include <vector>

namespace tilewright {

using std::chrono::steady_clock;

static thread_local std::shared_ptr<WorkLimit> limitOfThread;

/// The interval between checks of memory; a compilation allocates at most about 20 MiB in this
/// time.
static constexpr std::chrono::milliseconds memoryInterval(10);

int64_t residentBytes() {
  // The second number is the number of resident pages.
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  if (!file)
    return 0;
  long long total = 0, resident = 0;
  const int read = std::fscanf(file, "%lld %lld", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

WorkLimit::WorkLimit(Amounts amounts)
    : amounts(amounts), begin(steady_clock::now()),
      bytesBefore(amounts.bytes > 0 ? residentBytes() : 0) {
  if (amounts.seconds > 0 || amounts.bytes > 0)
    watcher = std::thread([this] { watch(); });
}

WorkLimit::~WorkLimit() {
  {
    std::lock_guard lock(mutex);
    isDone = true;
  }
  finished.notify_all();
  if (watcher.joinable())
    watcher.join();
}

void WorkLimit::watch() {
  // Clamped, because a huge number of seconds would overflow the clock's nanoseconds.
  const double seconds = amounts.seconds > 0 ? std::min(amounts.seconds, 1e9) : 1e9;
  const auto deadline = begin + std::chrono::duration_cast<steady_clock::duration>(
                                    std::chrono::duration<double>(seconds));
  std::unique_lock lock(mutex);
  while (!isDone) {
    const auto now = steady_clock::now();
    if (now >= deadline) {
      reason = Reason::seconds;
      return;
    }
    if (amounts.bytes > 0)
      if (const int64_t grown = residentBytes() - bytesBefore; grown > amounts.bytes) {
        bytesThen = grown;
        reason = Reason::bytes;
        return;
      }
    finished.wait_until(lock,
                        amounts.bytes > 0 ? std::min(deadline, now + memoryInterval) : deadline,
                        [&] { return isDone; });
  }
}

void WorkLimit::noteStop(std::string_view what) {
  std::lock_guard lock(mutex);
  if (!isReached() || noted)
    return;
  place = what;
  noted = true;
}

Status WorkLimit::status() const {
  std::lock_guard lock(mutex);
  const std::string where =
      concat("in stage '", stage.load(), "'", place.empty() ? "" : ", at ", place);
  if (reason == Reason::bytes)
    return Status(Error::compileMemory,
                  concat("compilation was stopped after taking ", bytesThen.load() >> 20,
                         " MiB, more than compile.max-memory (", amounts.bytes >> 20, " MiB), ",
                         where, "; raise compile.max-memory (0 for no limit)"));
  const double seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  return Status(Error::compileDeadline,
                concat("compilation was stopped after ", std::round(seconds * 100) / 100,
                       " s, more than compile.max-seconds (", amounts.seconds, "), ", where,
                       "; raise compile.max-seconds (0 for no limit)"));
}

WorkLimit *WorkLimit::current() { return limitOfThread.get(); }
std::shared_ptr<WorkLimit> WorkLimit::share() { return limitOfThread; }

Status WorkLimit::stopAt(std::string_view what) {
  if (WorkLimit *limit = current())
    limit->noteStop(what);
  return Status(Code::cancelled, concat("stopped at ", what));
}

WorkLimit::Scope::Scope(std::shared_ptr<WorkLimit> limit) : before(std::move(limit)) {
  std::swap(before, limitOfThread);
}
WorkLimit::Scope::~Scope() { limitOfThread = std::move(before); }

namespace {

/// A function that runs on a separate thread; shared by that thread and the waiting one.
struct Errand {
  std::function<void()> work;
  std::shared_ptr<WorkLimit> limit;
  std::mutex mutex;
  std::condition_variable ended;
  bool hasEnded = false; // guarded by mutex
};

/// Abandoned threads, which are joined only at process exit.
class LeftAlone {
public:
  ~LeftAlone() {
    for (pthread_t thread : threads)
      pthread_join(thread, nullptr);
  }
  void add(pthread_t thread) {
    std::lock_guard lock(mutex);
    threads.push_back(thread);
  }
  std::atomic<int> running = 0;

private:
  std::mutex mutex;
  std::vector<pthread_t> threads; // guarded by mutex
};

LeftAlone &threadsLeftAlone() {
  static LeftAlone all;
  return all;
}

} // namespace

/// Starts a thread that runs `errand`, with the same stack size as driver::runOnLargeStack.
static std::optional<pthread_t> start(const std::shared_ptr<Errand> &errand) {
  constexpr size_t stackBytes = size_t(64) << 20;
  auto run = [](void *given) -> void * {
    std::unique_ptr<std::shared_ptr<Errand>> owner(static_cast<std::shared_ptr<Errand> *>(given));
    Errand &errand = **owner;
    {
      WorkLimit::Scope scope(errand.limit);
      errand.work();
      errand.work = nullptr; // and frees what the function owns
    }
    --threadsLeftAlone().running;
    std::lock_guard lock(errand.mutex);
    errand.hasEnded = true;
    errand.ended.notify_all();
    return nullptr;
  };
  auto given = std::make_unique<std::shared_ptr<Errand>>(errand);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  pthread_t thread;
  const int failure = pthread_create(&thread, &attributes, run, given.get());
  pthread_attr_destroy(&attributes);
  if (failure)
    return std::nullopt;
  given.release();
  return thread;
}

int leftAlone() { return threadsLeftAlone().running; }

bool finishesInTime(std::function<void()> work) {
  std::shared_ptr<WorkLimit> limit = WorkLimit::share();
  if (!limit) {
    work();
    return true;
  }
  auto errand = std::make_shared<Errand>();
  errand->work = std::move(work);
  errand->limit = limit;
  ++threadsLeftAlone().running;
  std::optional<pthread_t> thread = start(errand);
  if (!thread) {
    // No thread could be started: run the work here, although it then cannot be interrupted.
    --threadsLeftAlone().running;
    errand->work();
    return !limit->isReached();
  }
  std::unique_lock lock(errand->mutex);
  // Work that checks the limit ends soon after the limit is reached; all other work is abandoned.
  constexpr std::chrono::milliseconds interval(10);
  for (auto grace = std::chrono::milliseconds(200); grace.count() > 0;) {
    if (errand->ended.wait_for(lock, interval, [&] { return errand->hasEnded; })) {
      lock.unlock();
      pthread_join(*thread, nullptr);
      return !limit->isReached();
    }
    if (limit->isReached())
      grace -= interval;
  }
  threadsLeftAlone().add(*thread);
  return false;
}

} // namespace tilewright
