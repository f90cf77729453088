// ThisProcess: what tells one process from all others, now and later.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_THISPROCESS_H
#define TILEWRIGHT_COLLECTIVE_RECORD_THISPROCESS_H

#include <cstdint>
#include <string>

namespace tilewright::collective::record {

struct ThisProcess {
  uint64_t pid = 0, start = 0; // the second in ticks since the machine started
  uint64_t pidNamespace = 0;   // numbers of other namespaces mean nothing here
  std::string host, boot, command;
};
ThisProcess thisProcess();

/// What the system says about a process of this host.
struct ProcessState {
  enum class Kind { elsewhere, gone, stopped, runs };
  Kind kind = Kind::elsewhere;
  char letter = '?'; // of /proc/PID/stat, if it is there: R computes, S and D wait
};
ProcessState stateOf(uint64_t pid, uint64_t start, uint64_t pidNamespace, const std::string &boot);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_THISPROCESS_H
