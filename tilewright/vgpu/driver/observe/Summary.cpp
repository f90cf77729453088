#include "tilewright/vgpu/driver/observe/Summary.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Driver.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <unistd.h>

namespace tilewright::vgpu::driver {

namespace {
using Clock = std::chrono::steady_clock;

struct Launches {
  uint64_t count = 0;
  std::chrono::nanoseconds time{0};
};

struct Notes {
  std::mutex mutex;
  // The members below are guarded by mutex.
  std::map<std::string, Launches, std::less<>> kernels;
  std::map<std::string, uint64_t, std::less<>> failures, refusals;
  std::set<std::string, std::less<>> missing;
  std::map<std::string, std::string, std::less<>> reports; // the latest of each check
  Clock::time_point written;
  bool isRegistered = false;
};
} // namespace

static Notes &notes() {
  // Never destroyed: streams may still run at the end of the process.
  static auto &only = *new Notes();
  return only;
}

static void writeLocked(Notes &all) {
  const std::string &directory = Driver::get().settings.summaryDirectory;
  if (directory.empty())
    return;
  all.written = Clock::now();
  // Write a temporary file first and rename it, so that the collector never sees a partial file.
  const std::string path = concat(directory, "/", getpid(), ".summary");
  const std::string draft = path + ".new";
  {
    std::ofstream out(draft);
    for (const auto &[name, launches] : all.kernels)
      out << "kernel\t" << escaped(name) << "\t" << launches.count << "\t" << launches.time.count()
          << "\n";
    for (const auto &[text, count] : all.failures)
      out << "failure\t" << escaped(text) << "\t" << count << "\n";
    for (const auto &[text, count] : all.refusals)
      out << "refusal\t" << escaped(text) << "\t" << count << "\n";
    for (const std::string &name : all.missing)
      out << "missing\t" << escaped(name) << "\n";
    for (const auto &[check, text] : all.reports)
      out << "report\t" << escaped(check) << "\t" << escaped(text) << "\n";
    out.flush();
    if (!out)
      return;
  }
  std::rename(draft.c_str(), path.c_str());
}

/// Writes the file from time to time, since a process may end without notice: Python's child
/// processes exit with _exit().
static void noted(Notes &all, bool isImportant) {
  if (!all.isRegistered) {
    all.isRegistered = true;
    std::atexit([] { writeSummary(); });
    isImportant = true;
  }
  constexpr std::chrono::milliseconds pause(20);
  if (isImportant || Clock::now() - all.written > pause)
    writeLocked(all);
}

void noteLaunch(std::string_view kernel, std::chrono::nanoseconds time) {
  Notes &all = notes();
  std::lock_guard lock(all.mutex);
  auto found = all.kernels.find(kernel);
  if (found == all.kernels.end())
    found = all.kernels.emplace(kernel, Launches{}).first;
  ++found->second.count;
  found->second.time += time;
  noted(all, false);
}

/// Counts a text, and prints it to standard error the first time.
static void count(Notes &all, std::map<std::string, uint64_t, std::less<>> &counts,
                  std::string_view text) {
  std::lock_guard lock(all.mutex);
  if (++counts[std::string(text)] == 1)
    std::fprintf(stderr, "tilewright vgpu: %.*s\n", static_cast<int>(text.size()), text.data());
  noted(all, true);
}

void noteFailure(std::string_view text) { count(notes(), notes().failures, text); }
void noteRefusal(std::string_view text) { count(notes(), notes().refusals, text); }

void noteMissing(std::string_view function) {
  if (!Driver::isInitialised())
    return;
  Notes &all = notes();
  std::lock_guard lock(all.mutex);
  if (all.missing.insert(std::string(function)).second)
    noted(all, false);
}

void noteReport(std::string_view check, std::string_view text) {
  Notes &all = notes();
  std::lock_guard lock(all.mutex);
  all.reports[std::string(check)] = text;
  noted(all, true);
}

Status endObservation(Observation *observation, Status status) {
  if (!observation)
    return status;
  status = observation->finished(std::move(status));
  if (std::string found = observation->report(); !found.empty())
    noteReport("checks", found);
  return status;
}

void writeSummary() {
  if (!Driver::isInitialised())
    return; // a forked child may not lock: a thread of the parent may hold the mutex
  Notes &all = notes();
  std::lock_guard lock(all.mutex);
  writeLocked(all);
}

} // namespace tilewright::vgpu::driver
