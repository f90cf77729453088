#include "tilewright/vgpu/driver/ObserveCheck.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/driver/Settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

/// The names among the settings' that are checks, as check::Options takes them. Kinds of
/// observation that are none (count) stand in the same list.
static std::string checksAmong(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    if (check::Options::parse(name).isOk())
      list += (list.empty() ? "" : ",") + name;
  return list;
}

/// One file for each process: whoever is first of those that one `tilewright vgpu run`
/// started has the name that was asked for, the others one with their number in it.
static std::string ownReportPath(const std::string &asked) {
  const char *run = std::getenv("TILEWRIGHT_VGPU_SUMMARY");
  if (asked.empty() || !run || !*run || mkdir(concat(run, "/report").c_str(), 0700) == 0)
    return asked;
  const size_t slash = asked.rfind('/'), dot = asked.rfind('.');
  const bool hasEnding = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const size_t at = hasEnding ? dot : asked.size();
  return concat(asked.substr(0, at), ".", getpid(), asked.substr(at));
}

/// The checker of this process, or null if no check is on. Never destroyed: streams may
/// still run at the end of the process.
static check::Checker *processChecker() {
  static check::Checker *const only = []() -> check::Checker * {
    Result<Settings> settings = Settings::fromEnvironment();
    if (!settings.isOk())
      return nullptr; // cuInit has told it
    Result<check::Options> options = check::Options::parse(checksAmong(settings->checks));
    if (!options.isOk() || !options->any())
      return nullptr;
    return new check::Checker(*options);
  }();
  return only;
}

namespace {
class Checking final : public Observation {
public:
  explicit Checking(check::Checker &checker) : checker(checker) {}
  machine::Observer &observer() override { return checker; }

  Status finished(Status status) override {
    // Written whenever something is new, since a process may end without telling anybody.
    static std::mutex mutex;
    static size_t writtenPlaces = 0; // guarded by mutex
    std::lock_guard lock(mutex);
    const size_t places = checker.report().size();
    if (places == writtenPlaces)
      return status;
    writtenPlaces = places;
    text = checker.report().text();
    static const std::string path = ownReportPath(reportPath());
    if (path.empty())
      return status;
    const check::ReportFormat format = path.ends_with(".json")    ? check::ReportFormat::json
                                       : path.ends_with(".sarif") ? check::ReportFormat::sarif
                                                                  : check::ReportFormat::text;
    // What was found must not be lost because of a full disk: it is in the summary, too.
    if (Status written = check::write(checker.report(), format, path); !written.isOk())
      std::fprintf(stderr, "tilewright vgpu: %s\n", written.toString().c_str());
    return status;
  }
  std::string report() const override { return text; }

private:
  static std::string reportPath() {
    Result<Settings> settings = Settings::fromEnvironment();
    return settings.isOk() ? settings->reportPath : "";
  }

  check::Checker &checker;
  std::string text;
};
} // namespace

std::unique_ptr<Observation> startChecking(const LaunchFacts &) {
  check::Checker *checker = processChecker();
  return checker ? std::make_unique<Checking>(*checker) : nullptr;
}

size_t redZoneBytes() {
  constexpr size_t bytes = 512; // also the alignment of device memory
  static const size_t used =
      processChecker() && processChecker()->options().bounds ? bytes : size_t(0);
  return used;
}

void tellAllocated(uint64_t begin, uint64_t bytes, bool isInitialised) {
  if (check::Checker *checker = processChecker())
    checker->memory().allocated(begin, bytes, redZoneBytes(), isInitialised);
}

void tellFreed(uint64_t begin) {
  if (check::Checker *checker = processChecker())
    checker->memory().freed(begin);
}

void tellWritten(const void *begin, uint64_t bytes) {
  if (check::Checker *checker = processChecker())
    checker->memory().written(reinterpret_cast<uint64_t>(begin), bytes);
}

} // namespace tilewright::vgpu::driver
