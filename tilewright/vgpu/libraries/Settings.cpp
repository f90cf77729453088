#include "tilewright/vgpu/libraries/Settings.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Number.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <unistd.h>

namespace tilewright::vgpu::libraries {

static constexpr std::pair<std::string_view, Fault::Kind> kinds[] = {
    {"create", Fault::Kind::create},
    {"nothing", Fault::Kind::nothing},
    {"refuse", Fault::Kind::refuse},
    {"workspace", Fault::Kind::workspace},
    {"launch", Fault::Kind::launch},
    {"device", Fault::Kind::device},
    {"overrun", Fault::Kind::overrun},
    {"underrun", Fault::Kind::underrun},
    {"workspace-overrun", Fault::Kind::workspaceOverrun},
    {"wrong", Fault::Kind::wrong},
    {"stale", Fault::Kind::stale},
};

/// Removes the text up to the separator from the front and returns it.
static std::string_view takeWord(std::string_view &text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

static std::string parseFault(std::string_view text, Fault &fault) {
  std::string_view name = takeWord(text, ' ');
  if (name.find(':') != std::string_view::npos)
    fault.library = takeWord(name, ':');
  if (!fault.library.empty() && fault.library != "cublasLt" && fault.library != "cudnn")
    return concat("unknown library '", fault.library, "', expected cublasLt or cudnn");
  bool isKnown = false;
  for (auto [word, kind] : kinds)
    if (word == name)
      fault.kind = kind, isKnown = true;
  if (!isKnown)
    return concat("unknown fault '", name, "'");
  while (!text.empty()) {
    std::string_view word = takeWord(text, ' ');
    const std::string_view key = takeWord(word, '=');
    const std::optional<uint64_t> number = numberIn<uint64_t>(word);
    if (key == "number" && number && *number > 0)
      fault.number = *number;
    else if (key == "bytes" && number)
      fault.bytes = *number;
    else if (!key.empty())
      return concat("cannot read '", key, "=", word, "', expected number=N or bytes=N");
  }
  return "";
}

std::string parseFaults(std::string_view text, std::vector<Fault> &faults) {
  while (!text.empty()) {
    std::string_view one = takeWord(text, ';');
    while (one.starts_with(' '))
      one.remove_prefix(1);
    if (one.empty())
      continue;
    if (std::string problem = parseFault(one, faults.emplace_back()); !problem.empty())
      return problem;
  }
  return "";
}

/// 91300 for "9.13.0" or "9.13".
static std::optional<int> parseVersion(std::string_view text) {
  std::array<uint64_t, 3> parts = {};
  for (size_t i = 0; i < parts.size() && !text.empty(); ++i) {
    const std::optional<uint64_t> part = numberIn<uint64_t>(takeWord(text, '.'));
    if (!part || *part > 99)
      return std::nullopt;
    parts[i] = *part;
  }
  if (!text.empty() || parts[0] == 0)
    return std::nullopt;
  return static_cast<int>(parts[0] * 10000 + parts[1] * 100 + parts[2]);
}

static void readVersion(const char *variable, int &version) {
  const char *text = std::getenv(variable);
  if (!text || !*text)
    return;
  if (const std::optional<int> parsed = parseVersion(text))
    version = *parsed;
  else
    std::fprintf(stderr, "tilewright vgpu: %s is '%s', expected a version such as 9.13.0\n",
                 variable, text);
}

static Settings readSettings() {
  Settings settings;
  readVersion("TILEWRIGHT_VGPU_CUBLASLT_VERSION", settings.cublasLtVersion);
  readVersion("TILEWRIGHT_VGPU_CUDNN_VERSION", settings.cudnnVersion);
  if (const char *path = std::getenv("TILEWRIGHT_VGPU_LIBRARIES_LOG"))
    settings.logPath = path;
  if (const char *faults = std::getenv("TILEWRIGHT_VGPU_LIBRARIES_FAULT"))
    if (const std::string problem = parseFaults(faults, settings.faults); !problem.empty())
      std::fprintf(stderr, "tilewright vgpu: TILEWRIGHT_VGPU_LIBRARIES_FAULT: %s\n",
                   problem.c_str());
  return settings;
}

const Settings &Settings::get() {
  static const Settings &only = *new Settings(readSettings());
  return only;
}

const Fault *faultOf(std::string_view library, Fault::Kind kind, uint64_t number) {
  for (const Fault &fault : Settings::get().faults)
    if (fault.kind == kind && (fault.library.empty() || fault.library == library) &&
        (fault.number == 0 || fault.number == number))
      return &fault;
  return nullptr;
}

void record(std::string_view library, std::string_view call, std::string_view fields, int result) {
  const std::string &path = Settings::get().logPath;
  if (path.empty())
    return;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  static const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line =
      concat("{\"process\": ", getpid(), ", \"library\": \"", library, "\", \"call\": \"", call,
             "\"", fields.empty() ? "" : ", ", fields, ", \"result\": ", result, "}\n");
  // Both libraries, in several processes, may append to the same file; each line is a single write.
  if (file < 0 || write(file, line.data(), line.size()) < 0)
    std::fprintf(stderr, "tilewright vgpu: cannot write %s: %s\n", path.c_str(),
                 std::strerror(errno));
}

} // namespace tilewright::vgpu::libraries
