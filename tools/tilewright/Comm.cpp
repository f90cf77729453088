// `tilewright comm`: shows the activity of a job's ranks, read from their flight recorders.
#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Number.h"
#include "tilewright/support/text/Suggest.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/pictures/CommTimeline.h"

#include <filesystem>
#include <iostream>

namespace tilewright::tools {
namespace {

using namespace collective::record;

constexpr Flag commFlags[] = {
    {"job", "NAME", "the job whose name begins with NAME (default: the one that started last)"},
    {"patience", "SECONDS",
     "explain: report only ranks that have waited at least this long (default: 1)"},
    {"json", "", "explain: print one JSON object"},
    {"output", "FILE.json", "timeline: the file to write"},
};

/// Enough records to explain a hang and to find a slow rank; reading all of them takes longer.
constexpr uint64_t newestForExplain = 1024;

Status explain(const std::vector<std::string> &paths, const CommandLine &line) {
  const std::string patience = line.last("patience", "1");
  const double seconds = numberIn<double>(patience).value_or(-1);
  if (!(seconds >= 0) || seconds > 1e9)
    return Status(Error::flagValue,
                  concat("--patience expects a number of seconds, got '", patience, "'"));
  std::vector<std::string> notes;
  TILEWRIGHT_ASSIGN(auto view, viewOf(paths, line.last("job"), newestForExplain, notes));
  const Diagnosis diagnosis =
      diagnose(*view, std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
  std::cout << (line.has("json") ? toJson(*view, diagnosis, notes)
                                 : toText(*view, diagnosis, notes))
            << std::flush;
  if (verdictOf(*view, diagnosis).isOk())
    return Status();
  return Status(Error::jobStandsStill,
                "the job hangs; the report shows which ranks are missing, and where");
}

Status timeline(const std::vector<std::string> &paths, const CommandLine &line) {
  namespace fs = std::filesystem;
  const std::string output = line.last("output");
  if (output.empty())
    return Status(Error::commandUsage, "comm timeline requires --output=FILE.json");
  std::vector<std::string> recordings, traces;
  for (const std::string &path : paths) {
    const bool isTrace = fs::path(path).extension() == ".json";
    (isTrace ? traces : recordings).push_back(path);
  }
  if (recordings.empty())
    recordings.push_back(defaultFolder());
  std::vector<std::string> notes;
  TILEWRIGHT_ASSIGN(auto view, viewOf(recordings, line.last("job"), maxEntries, notes));
  std::vector<ProcessTimeline> timelines;
  for (const std::string &path : traces) {
    TILEWRIGHT_ASSIGN(std::string text, readFile(path));
    timelines.push_back({path, std::move(text)});
  }
  TILEWRIGHT_ASSIGN(std::string written, timelineOf(*view, timelines));
  TILEWRIGHT_TRY(writeFile(output, {std::as_bytes(std::span(written))}));
  for (const std::string &note : notes)
    std::cout << "note: " << note << "\n";
  auto count = [](size_t number, std::string_view noun) {
    return concat(number, " ", noun, number == 1 ? "" : "s");
  };
  std::cout << "wrote " << output << ": " << count(view->ranks().size(), "rank") << ", "
            << count(view->visits().size(), "collective") << ", "
            << count(timelines.size(), "timeline") << " of processes";
  for (const HostClock &clock : view->clocks())
    if (view->clocks().size() > 1)
      std::cout
          << "\n  the clock of " << clock.host
          << (clock.bound < 0
                  ? std::string(
                        " is not aligned: the host shares no recorded collective with the others")
                  : concat(" is accurate to ", clock.bound / 1000, " us"));
  std::cout << "\n";
  return Status();
}

Status comm(const CommandLine &line) {
  std::vector<std::string> paths = line.files();
  const std::string what = paths.empty() ? "" : paths.front();
  const std::vector<std::string> known = {"explain", "timeline"};
  if (what != "explain" && what != "timeline")
    return Status(Error::commandUsage,
                  concat("comm expects explain or timeline, followed by files, got '", what, "'",
                         didYouMean(what, known)));
  paths.erase(paths.begin());
  if (what == "timeline")
    return timeline(paths, line);
  if (paths.empty())
    paths.push_back(defaultFolder());
  return explain(paths, line);
}

} // namespace

const Command commCommand{
    "comm",
    "explain [DIR | FILE.flight…] [--json] | timeline [DIR | FILE.flight… | TRACE.json…] "
    "--output=FILE.json",
    "reports which rank of a job is missing from which collective, or draws a timeline of all "
    "ranks",
    "\nEach process of a job records its collectives in a file (runtime.flight-recorder). The "
    "file\n"
    "exists while the process runs, when it hangs, and after it was killed. Without DIR, the "
    "command\n"
    "reads the files of your own jobs on this machine; for a job on several hosts, copy the files "
    "of\n"
    "all hosts to one folder.\n\n"
    "explain reports, for each clique that waits for a rank, which ranks are missing from which\n"
    "collective (with its source line), which ranks wait there and for how long, what the missing\n"
    "ranks did last and what happened to their processes; and which ranks are slow. Exit code 7\n"
    "(E6053) if the job hangs, 0 if it does not.\n\n"
    "timeline writes a file for ui.perfetto.dev: a row for each rank, a track for each clique, "
    "and\n"
    "arrows from the rank that came last to the ranks that waited for it. TRACE.json are "
    "timelines\n"
    "that the processes wrote themselves (TILEWRIGHT_TRACE_FILE='t.{pid}.json'); the command "
    "aligns\n"
    "their clocks.\n\n"
    "  tilewright comm explain\n"
    "  tilewright comm timeline notes t.*.json --output=job.json\n",
    commFlags,
    comm};

} // namespace tilewright::tools
