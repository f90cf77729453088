#include "tools/tilewright-reduce/Isolate.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tilewright::tools {
namespace {

/// Memory that the parent shares with its children.
struct Shared {
  std::atomic<uint64_t> next;
  struct Child {
    std::atomic<uint64_t> job;      // 1 + the number of the running job, 0 between jobs
    std::atomic<int64_t> startedAt; // nanoseconds of CPU time
    std::atomic<int64_t> wallStart; // nanoseconds of the clock, to find a job that blocks
  } children[64];
};

int64_t nanosecondsOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  std::string pending; // the beginning of a record whose rest has not arrived
};

struct Header {
  uint64_t job;
  double seconds;
  uint64_t bytes;
};

void writeAll(int file, const void *data, size_t size) {
  const auto *bytes = static_cast<const char *>(data);
  while (size > 0) {
    const ssize_t done = write(file, bytes, size);
    if (done <= 0)
      _exit(3);
    bytes += done;
    size -= static_cast<size_t>(done);
  }
}

[[noreturn]] void runChild(const IsolateSettings &settings, Shared &shared, Shared::Child &self,
                           int out,
                           const std::function<std::function<std::string(uint64_t)>()> &start) {
  if (settings.maxBytes) {
    rlimit limit{settings.maxBytes, settings.maxBytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  const std::function<std::string(uint64_t)> work = start();
  while (true) {
    const uint64_t number = shared.next++;
    if (number >= settings.count)
      _exit(0);
    const int64_t began = nanosecondsOf(CLOCK_PROCESS_CPUTIME_ID);
    self.startedAt = began;
    self.wallStart = nanosecondsOf(CLOCK_MONOTONIC);
    self.job = settings.first + number + 1;
    const std::string text = work(settings.first + number);
    const double seconds =
        static_cast<double>(nanosecondsOf(CLOCK_PROCESS_CPUTIME_ID) - began) * 1e-9;
    const Header header{settings.first + number, seconds, text.size()};
    writeAll(out, &header, sizeof header);
    writeAll(out, text.data(), text.size());
    self.job = 0;
  }
}

} // namespace

void runIsolated(const IsolateSettings &settings,
                 const std::function<std::function<std::string(uint64_t)>()> &start,
                 const std::function<void(const Outcome &)> &report) {
  void *memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto *shared = new (memory) Shared{};
  std::vector<Child> children(static_cast<size_t>(std::min(settings.processes, 64)));

  auto launch = [&](size_t i) {
    int ends[2];
    if (pipe(ends) != 0)
      return;
    std::fflush(nullptr);
    shared->children[i].job = 0;
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      runChild(settings, *shared, shared->children[i], ends[1], start);
    }
    close(ends[1]);
    children[i] = {pid, ends[0], {}};
  };
  auto takeRecords = [&](Child &child) {
    while (child.pending.size() >= sizeof(Header)) {
      Header header;
      std::memcpy(&header, child.pending.data(), sizeof header);
      if (child.pending.size() < sizeof header + header.bytes)
        return;
      report({header.job, Outcome::Kind::ended, child.pending.substr(sizeof header, header.bytes),
              header.seconds});
      child.pending.erase(0, sizeof header + header.bytes);
    }
  };
  /// Called when the child has closed its pipe because it has no more jobs or died, or when it is
  /// killed.
  auto finish = [&](size_t i, bool hung) {
    int status = 0;
    waitpid(children[i].pid, &status, 0);
    close(children[i].pipe);
    children[i].pid = -1;
    const uint64_t job = shared->children[i].job;
    if (job == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
      return;
    Outcome outcome{job ? job - 1 : 0, hung ? Outcome::Kind::hung : Outcome::Kind::died, "", 0};
    outcome.text = hung                  ? "it was still running"
                   : WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                                         : "exit status " + std::to_string(WEXITSTATUS(status));
    if (job == 0)
      outcome.text += " before a job";
    report(outcome);
    if (job != 0)
      launch(i);
  };

  for (size_t i = 0; i < children.size(); ++i)
    launch(i);
  while (true) {
    std::vector<pollfd> waits;
    std::vector<size_t> whose;
    for (size_t i = 0; i < children.size(); ++i)
      if (children[i].pid > 0) {
        waits.push_back({children[i].pipe, POLLIN, 0});
        whose.push_back(i);
      }
    if (waits.empty())
      break;
    poll(waits.data(), waits.size(), 200);
    for (size_t k = 0; k < waits.size(); ++k) {
      Child &child = children[whose[k]];
      if (waits[k].revents & (POLLIN | POLLHUP)) {
        char buffer[65536];
        const ssize_t got = read(child.pipe, buffer, sizeof buffer);
        if (got > 0) {
          child.pending.append(buffer, static_cast<size_t>(got));
          takeRecords(child);
        } else {
          finish(whose[k], false);
        }
        continue;
      }
      Shared::Child &state = shared->children[whose[k]];
      clockid_t clock;
      if (state.job == 0 || clock_getcpuclockid(child.pid, &clock) != 0)
        continue;
      const double worked = static_cast<double>(nanosecondsOf(clock) - state.startedAt) * 1e-9,
                   waited =
                       static_cast<double>(nanosecondsOf(CLOCK_MONOTONIC) - state.wallStart) * 1e-9;
      // Check the job again: the child may have finished it since the clocks were read.
      if ((worked > settings.maxSeconds || waited > 60 + 10 * settings.maxSeconds) &&
          state.job != 0) {
        kill(child.pid, SIGKILL);
        finish(whose[k], true);
      }
    }
  }
  munmap(memory, sizeof(Shared));
}

} // namespace tilewright::tools
