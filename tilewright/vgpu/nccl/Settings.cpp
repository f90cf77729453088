#include "tilewright/vgpu/nccl/Settings.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Number.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>

namespace tilewright::vgpu::nccl {

static std::string_view valueOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? text : "";
}

/// The non-empty words of a text between separators.
static std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0)
      parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

static std::string parseFault(std::string_view text, Fault &fault) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.empty())
    return "an action is missing";
  if (words[0] == "fail")
    fault.action = Fault::Action::fail;
  else if (words[0] == "delay")
    fault.action = Fault::Action::delay;
  else if (words[0] == "die")
    fault.action = Fault::Action::die;
  else if (words[0] == "hang")
    fault.action = Fault::Action::hang;
  else
    return concat("unknown action '", words[0], "', expected fail, delay, die or hang");
  for (std::string_view word : std::span(words).subspan(1)) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    const std::optional<int> number = numberIn<int>(value);
    if (key == "call" && !value.empty())
      fault.function = value;
    else if (key == "at" && (value == "device" || value == "call"))
      fault.onDevice = value == "device";
    else if (key == "rank" && number && *number >= 0)
      fault.rank = *number;
    else if (key == "number" && number && *number > 0)
      fault.number = static_cast<uint64_t>(*number);
    else if (key == "result" && number && *number > 0 && *number < ncclNumResults)
      fault.result = static_cast<ncclResult_t>(*number);
    else if (key == "ms" && number && *number >= 0)
      fault.delay = std::chrono::milliseconds(*number);
    else
      return concat("cannot read '", word,
                    "', expected call=NAME, rank=N, number=N, at=call|device, result=N or ms=N");
  }
  return "";
}

std::string parseFaults(std::string_view text, std::vector<Fault> &faults) {
  for (std::string_view one : split(text, ';'))
    if (std::string problem = parseFault(one, faults.emplace_back()); !problem.empty())
      return problem;
  return "";
}

/// 22304 for "2.23.4" or "2.23"; nullopt unless it is from 2.23 to 2.32.
static std::optional<int> parseVersion(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > 3 || parts[0] != "2")
    return std::nullopt;
  const std::optional<int> minor = numberIn<int>(parts[1]);
  const std::optional<int> patch = parts.size() == 3 ? numberIn<int>(parts[2]) : 0;
  if (!minor || !patch || *minor < 23 || *minor > 32 || *patch < 0 || *patch > 99)
    return std::nullopt;
  return 20000 + *minor * 100 + *patch;
}

static Settings readSettings() {
  Settings settings;
  const std::string_view version = valueOf("TILEWRIGHT_VGPU_NCCL_VERSION");
  if (!version.empty()) {
    const std::optional<int> parsed = parseVersion(version);
    if (parsed)
      settings.version = *parsed;
    else
      settings.problem = concat("TILEWRIGHT_VGPU_NCCL_VERSION is '", version,
                                "', expected a version from 2.23 to 2.32, such as 2.27.5");
  }
  // A NCCL kernel that waits for another rank does not end, so the time limit for kernels applies
  // to it, unless NCCL has its own limit.
  for (const char *variable : {"TILEWRIGHT_VGPU_TIMEOUT", "TILEWRIGHT_VGPU_NCCL_TIMEOUT"})
    if (const std::string_view text = valueOf(variable); !text.empty()) {
      const std::optional<double> seconds = numberIn<double>(text);
      if (seconds && *seconds > 0 && *seconds <= 1e6)
        settings.timeLimit = std::chrono::nanoseconds(static_cast<int64_t>(*seconds * 1e9));
      else
        settings.problem =
            concat(variable, " is '", text, "', expected a number of seconds above 0");
    }
  settings.logPath = valueOf("TILEWRIGHT_VGPU_NCCL_LOG");
  settings.reportsLeaks = valueOf("TILEWRIGHT_VGPU_NCCL_LEAKS") == "1";
  if (const std::string problem =
          parseFaults(valueOf("TILEWRIGHT_VGPU_NCCL_FAULT"), settings.faults);
      !problem.empty())
    settings.problem = concat("TILEWRIGHT_VGPU_NCCL_FAULT: ", problem);
  if (!settings.problem.empty())
    std::fprintf(stderr, "tilewright vgpu nccl: %s\n", settings.problem.c_str());
  return settings;
}

const Settings &Settings::get() {
  static const Settings &only = *new Settings(readSettings());
  return only;
}

ncclResult_t meetFaults(std::string_view function, int rank, bool onDevice) {
  const std::vector<Fault> &faults = Settings::get().faults;
  static std::mutex mutex;
  static auto &counts =
      *new std::map<std::pair<const Fault *, int>, uint64_t>(); // guarded by mutex
  for (const Fault &fault : faults) {
    if (fault.onDevice != onDevice || (fault.rank >= 0 && fault.rank != rank) ||
        (!fault.function.empty() && fault.function != function))
      continue;
    if (fault.number != 0) {
      std::lock_guard lock(mutex);
      if (++counts[{&fault, rank}] != fault.number)
        continue;
    }
    switch (fault.action) {
    case Fault::Action::fail:
      return fault.result;
    case Fault::Action::delay:
      std::this_thread::sleep_for(fault.delay);
      break;
    case Fault::Action::die:
      kill(getpid(), SIGKILL);
      [[fallthrough]];
    case Fault::Action::hang:
      for (;;)
        pause();
    }
  }
  return ncclSuccess;
}

} // namespace tilewright::vgpu::nccl
