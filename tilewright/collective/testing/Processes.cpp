#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::collective::test {

using namespace std::chrono_literals;

/// No test waits longer than this for a child.
static constexpr auto longest = 60s;

void Report::say(std::string line) {
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = write(pipe, line.data() + done, line.size() - done);
    if (count <= 0)
      return;
    done += static_cast<size_t>(count);
  }
}

Processes::Processes() {
  char name[] = "/tmp/tilewright-processes-XXXXXX";
  directory = mkdtemp(name) ? name : "/nowhere";
}

Processes::~Processes() {
  for (Child &child : children) {
    if (!child.isOver) {
      kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
    }
    close(child.pipe);
  }
  std::filesystem::remove_all(directory);
}

void Processes::start(const Body &body) {
  int ends[2];
  if (pipe(ends) != 0)
    return;
  Child child;
  child.pid = fork();
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    for (Child &other : children)
      close(other.pipe);
    Report report(ends[1]);
    DirectoryKeyValueStore store(directory);
    Status status = body(store, report);
    if (!status.isOk())
      report.say(concat("failed: ", status.toString()));
    _exit(status.isOk() ? 0 : 1);
  }
  close(ends[1]);
  child.pipe = ends[0];
  children.push_back(std::move(child));
}

void Processes::signal(size_t child, int number) { kill(children[child].pid, number); }

void Processes::removeStore() { std::filesystem::remove_all(directory); }

bool Processes::read(Child &child, int milliseconds) {
  pollfd poll = {child.pipe, POLLIN, 0};
  if (::poll(&poll, 1, milliseconds) != 1)
    return true;
  char bytes[4096];
  const ssize_t count = ::read(child.pipe, bytes, sizeof bytes);
  if (count <= 0)
    return false;
  child.text.append(bytes, static_cast<size_t>(count));
  child.reads.emplace_back(child.text.size(), std::chrono::steady_clock::now());
  return true;
}

Deadline Processes::awaitText(size_t index, const std::string &text) {
  const Deadline deadline = after(longest);
  while (std::chrono::steady_clock::now() < deadline) {
    // Read all children, so that the time of a child's line does not depend on waiting for another
    // child.
    for (Child &child : children)
      if (&child != &children[index])
        (void)read(child, 0);
    const size_t found = children[index].text.find(text);
    if (found != std::string::npos)
      for (auto [end, when] : children[index].reads)
        if (end >= found + text.size())
          return when;
    if (!read(children[index], 1))
      break;
  }
  return Deadline::max();
}

bool Processes::hasEnded(size_t index) {
  Child &child = children[index];
  if (child.isOver)
    return true;
  (void)read(child, 0);
  if (waitpid(child.pid, &child.status, WNOHANG) != child.pid)
    return false;
  child.isOver = true;
  while (read(child, 0) && poll(nullptr, 0, 0) == 0) {
    pollfd rest = {child.pipe, POLLIN, 0};
    if (poll(&rest, 1, 0) != 1)
      break;
  }
  return true;
}

std::string Processes::end(size_t index) {
  Child &child = children[index];
  const Deadline deadline = after(longest);
  while (std::chrono::steady_clock::now() < deadline) {
    if (!hasEnded(index)) {
      (void)read(child, 1);
      continue;
    }
    if (WIFSIGNALED(child.status))
      return concat("ended by signal ", WTERMSIG(child.status));
    return WEXITSTATUS(child.status) == 0 ? "" : concat("exit code ", WEXITSTATUS(child.status));
  }
  return "still runs";
}

Membership membershipOf(int64_t process, int64_t processes, uint64_t epoch) {
  Membership membership;
  membership.process = process;
  membership.epoch = epoch;
  for (int64_t i = 0; i < processes; ++i)
    membership.processOfRank.push_back(i);
  return membership;
}

Status sumOnes(Communicator &communicator, size_t count, float expected) {
  const std::vector<std::vector<int64_t>> all;
  std::vector<float> values(count, 1);
  Call call;
  call.groups = &all;
  call.reduction.operation = ReductionKind::add;
  call.name = "all_reduce.3";
  call.place = "train.py:41";
  call.tensors = {{ElementType::f32,
                   {static_cast<int64_t>(count)},
                   {static_cast<int64_t>(count)},
                   reinterpret_cast<const std::byte *>(values.data()),
                   reinterpret_cast<std::byte *>(values.data())}};
  TILEWRIGHT_TRY(communicator.run(call));
  for (float value : values)
    if (value != expected)
      return Status(Code::internal, concat("a sum is ", value, ", not ", expected));
  return Status();
}

Status sumForEver(Communicator &communicator, size_t count, float expected,
                  const std::function<void()> &onRound) {
  while (true) {
    TILEWRIGHT_TRY(sumOnes(communicator, count, expected));
    if (onRound)
      onRound();
  }
}

Census Census::take() {
  auto count = [](const char *path) {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path),
                                             std::filesystem::directory_iterator()));
  };
  size_t mappings = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    mappings += line.find("memfd:tilewright") != std::string::npos;
  return {count("/proc/self/fd"), count("/proc/self/task"), mappings};
}

} // namespace tilewright::collective::test
