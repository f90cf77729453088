#include "tilewright/collective/record/ThisProcess.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/store/WholeFile.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::collective::record {

static uint64_t namespaceOfPids() {
  struct stat status = {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

static std::string bootName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

/// Reads the state and start time, fields 3 and 22 of /proc/PID/stat. The command name may contain
/// spaces, so count fields after the last parenthesis.
static std::optional<std::pair<char, uint64_t>> readStat(const std::string &path) {
  const std::string text = readWholeFile(path).value_or("");
  const size_t bracket = text.rfind(')');
  if (bracket == std::string::npos)
    return std::nullopt;
  std::istringstream rest(text.substr(bracket + 1));
  char letter = '?';
  rest >> letter;
  std::string skipped;
  for (int field = 4; field < 22; ++field)
    rest >> skipped;
  uint64_t start = 0;
  if (!(rest >> start))
    return std::nullopt;
  return std::pair(letter, start);
}

ThisProcess thisProcess() {
  ThisProcess self;
  self.pid = static_cast<uint64_t>(getpid());
  if (const auto stat = readStat("/proc/self/stat"))
    self.start = stat->second;
  self.pidNamespace = namespaceOfPids();
  char host[64] = {};
  if (gethostname(host, sizeof host - 1) == 0)
    self.host = host;
  self.boot = bootName();
  self.command = readWholeFile("/proc/self/cmdline").value_or("");
  std::replace(self.command.begin(), self.command.end(), '\0', ' ');
  while (!self.command.empty() && self.command.back() == ' ')
    self.command.pop_back();
  return self;
}

ProcessState stateOf(uint64_t pid, uint64_t start, uint64_t pidNamespace, const std::string &boot) {
  static const std::string here = bootName();
  static const uint64_t numbers = namespaceOfPids();
  if (boot != here || pidNamespace != numbers)
    return {};
  const auto stat = readStat(concat("/proc/", pid, "/stat"));
  if (!stat || stat->second != start || stat->first == 'Z' || stat->first == 'X')
    return {ProcessState::Kind::gone, stat ? stat->first : '?'};
  const bool isStopped = stat->first == 'T' || stat->first == 't';
  return {isStopped ? ProcessState::Kind::stopped : ProcessState::Kind::runs, stat->first};
}

} // namespace tilewright::collective::record
