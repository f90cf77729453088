// ThisProcess: identifies a process uniquely, even after it has ended.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_THISPROCESS_H
#define TILEWRIGHT_COLLECTIVE_RECORD_THISPROCESS_H

#include <cstdint>
#include <string>

namespace tilewright::collective::record {

struct ThisProcess {
  uint64_t pid = 0, start = 0; // `start` is in clock ticks since boot
  uint64_t pidNamespace = 0;   // pids of other namespaces mean nothing here
  std::string host, boot, command;
};
ThisProcess thisProcess();

/// The state of a process on this host, as reported by the kernel.
struct ProcessState {
  enum class Kind { elsewhere, gone, stopped, runs };
  Kind kind = Kind::elsewhere;
  char letter = '?'; // from /proc/PID/stat, if it exists: R computes, S and D wait
};
ProcessState stateOf(uint64_t pid, uint64_t start, uint64_t pidNamespace, const std::string &boot);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_THISPROCESS_H
