#include "tilewright/vgpu/nccl/Record.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Comm.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tilewright::vgpu::nccl {

namespace {
struct Calls {
  std::mutex mutex;
  // All are guarded by mutex.
  uint64_t count = 0;
  std::string text;
  int file = -1;
};
std::atomic<bool> isInMemory = false;
} // namespace

static Calls &calls() {
  static auto &only = *new Calls();
  return only;
}

bool isRecording() { return isInMemory || !Settings::get().logPath.empty(); }

void record(std::string_view function, uint64_t communicator, int rank, std::string_view arguments,
            ncclResult_t result) {
  Calls &all = calls();
  std::lock_guard lock(all.mutex);
  const std::string line =
      concat("{\"process\": ", getpid(), ", \"number\": ", ++all.count, ", \"communicator\": \"",
             communicator, "\", \"rank\": ", rank, ", \"call\": \"", function,
             "\", \"arguments\": {", arguments, "}, \"result\": ", int(result), "}\n");
  if (isInMemory)
    all.text += line;
  const std::string &path = Settings::get().logPath;
  if (path.empty())
    return;
  if (all.file < 0)
    all.file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  // Several processes append to the same file, so each line is a single write.
  if (all.file < 0 || write(all.file, line.data(), line.size()) < 0)
    std::fprintf(stderr, "tilewright vgpu nccl: cannot write %s: %s\n", path.c_str(),
                 std::strerror(errno));
}

static std::string leaks() {
  std::string text;
  for (const std::shared_ptr<Comm> &comm : allComms()) {
    text += concat("communicator ", comm->board.ranks() ? comm->board.id() : 0, ", rank ",
                   comm->rank, " of ", comm->ranks, ", was not destroyed\n");
    for (const auto &[handle, window] : comm->windows)
      text += concat("  its window of ", window.bytes, " bytes at ", window.begin,
                     " was not deregistered\n");
    for (const auto &[handle, memory] : comm->registrations)
      text += concat("  its memory of ", memory.bytes, " bytes at ", memory.begin,
                     " was not deregistered\n");
  }
  return text;
}

namespace {
/// Prints leaks at the end of the process, if requested.
struct AtEnd {
  AtEnd() {
    if (Settings::get().reportsLeaks)
      std::atexit([] {
        if (const std::string text = leaks(); !text.empty())
          std::fprintf(stderr, "tilewright vgpu nccl: at the end of process %d:\n%s", getpid(),
                       text.c_str());
      });
  }
} const atEnd;
} // namespace

} // namespace tilewright::vgpu::nccl

using namespace tilewright::vgpu::nccl;

#define NCCL_TOOL extern "C" __attribute__((visibility("default")))

NCCL_TOOL void tilewright_vgpu_nccl_record(int isOn) { isInMemory = isOn != 0; }

NCCL_TOOL size_t tilewright_vgpu_nccl_calls(char *buffer, size_t capacity) {
  Calls &all = calls();
  std::lock_guard lock(all.mutex);
  const size_t size = all.text.size();
  if (buffer && size < capacity) {
    std::memcpy(buffer, all.text.c_str(), size + 1);
    all.text.clear();
  }
  return size;
}

NCCL_TOOL size_t tilewright_vgpu_nccl_leaks(char *buffer, size_t capacity) {
  const std::string text = leaks();
  if (buffer && text.size() < capacity)
    std::memcpy(buffer, text.c_str(), text.size() + 1);
  return text.size();
}
