#include "tilewright/vgpu/driver/observe/ObserveCheck.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/driver/Settings.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

/// The names in the settings that are checks, in the form that check::Options::parse() takes. The
/// list may also contain other kinds of observation (count).
static std::string checksAmong(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    if (check::Options::parse(name).isOk())
      list += (list.empty() ? "" : ",") + name;
  return list;
}

/// Each process writes its own file. The first process that a `tilewright vgpu run` starts uses the
/// requested name; the others add their process id.
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
      return nullptr; // cuInit has reported the error
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
    // Write whenever there are new findings, since a process may end without notice.
    static std::mutex mutex;
    static uint64_t writtenChanges = 0; // guarded by mutex
    std::lock_guard lock(mutex);
    const uint64_t changes = checker.report().changeCount();
    if (changes == writtenChanges)
      return status;
    writtenChanges = changes;
    text = checker.report().text();
    static const std::string path = ownReportPath(reportPath());
    if (path.empty())
      return status;
    const check::ReportFormat format = path.ends_with(".json")    ? check::ReportFormat::json
                                       : path.ends_with(".sarif") ? check::ReportFormat::sarif
                                                                  : check::ReportFormat::text;
    // If the disk is full, the findings are still in the summary.
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

std::unique_ptr<Observation> startChecking() {
  check::Checker *checker = processChecker();
  return checker ? std::make_unique<Checking>(*checker) : nullptr;
}

bool areBoundsChecked() {
  const check::Checker *checker = processChecker();
  return checker && checker->options().bounds;
}

bool areRacesChecked() {
  const check::Checker *checker = processChecker();
  return checker && checker->options().races;
}

void tellAllocated(uint64_t begin, uint64_t bytes, bool isInitialised) {
  if (check::Checker *checker = processChecker())
    checker->memory().allocated(begin, bytes, /*redZone=*/0, isInitialised);
}

void tellFreed(uint64_t begin) {
  if (check::Checker *checker = processChecker())
    checker->memory().freed(begin);
}

std::string checkReportJson() {
  check::Checker *checker = processChecker();
  return checker ? checker->report().json() : "";
}

void tellWritten(const void *begin, uint64_t bytes) {
  check::Checker *checker = processChecker();
  if (!checker)
    return;
  auto address = reinterpret_cast<uint64_t>(begin);
  const std::shared_ptr<const machine::AllocationTable> table = machine::allocations().snapshot();
  while (table->hasHomes() && bytes != 0) {
    // Adjacent mappings have different homes.
    const machine::Allocation *found = table->find(address);
    const uint64_t here = found ? std::min(bytes, found->end - address) : bytes;
    checker->memory().written(table->home(address), here);
    address += here;
    bytes -= here;
  }
  if (bytes != 0)
    checker->memory().written(address, bytes);
}

} // namespace tilewright::vgpu::driver
