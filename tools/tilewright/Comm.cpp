// `tilewright comm`: what the ranks of a job do, from what their flight recorders noted.
#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/CommTimeline.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/Files.h"

#include <charconv>
#include <filesystem>
#include <iostream>

namespace tilewright::tools {
namespace {

using namespace collective::record;

constexpr Flag commFlags[] = {
    {"job", "NAME", "the job whose name begins so (default: the one that started last)"},
    {"patience", "SECONDS", "explain: who waits for less is not stuck (default: 1)"},
    {"json", "", "explain: print one JSON object"},
    {"output", "FILE.json", "timeline: where it goes"},
};

/// Enough for what is stuck now and for who is slow; all of it takes longer to read.
constexpr uint64_t newestForExplain = 1024;

Status explain(const std::vector<std::string> &paths, const CommandLine &line) {
  const std::string patience = line.last("patience", "1");
  double seconds = 0;
  const char *end = patience.data() + patience.size();
  if (std::from_chars(patience.data(), end, seconds).ptr != end || !(seconds >= 0) || seconds > 1e9)
    return Status(Error::flagValue, concat("--patience takes seconds, got '", patience, "'"));
  std::vector<std::string> notes;
  TILEWRIGHT_ASSIGN(auto view, viewOf(paths, line.last("job"), newestForExplain, notes));
  const Diagnosis diagnosis =
      diagnose(*view, std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
  std::cout << (line.has("json") ? toJson(*view, diagnosis, notes)
                                 : toText(*view, diagnosis, notes))
            << std::flush;
  return verdictOf(*view, diagnosis);
}

Status timeline(const std::vector<std::string> &paths, const CommandLine &line) {
  namespace fs = std::filesystem;
  const std::string output = line.last("output");
  if (output.empty())
    return Status(Error::commandUsage, "comm timeline needs --output=FILE.json");
  std::vector<std::string> recordings, traces;
  for (const std::string &path : paths) {
    const bool isTrace = fs::path(path).extension() == ".json";
    (isTrace ? traces : recordings).push_back(path);
  }
  if (recordings.empty())
    recordings.push_back(defaultFolder());
  std::vector<std::string> notes;
  TILEWRIGHT_ASSIGN(auto view, viewOf(recordings, line.last("job"), mostEntries, notes));
  std::vector<ProcessTimeline> timelines;
  for (const std::string &path : traces) {
    TILEWRIGHT_ASSIGN(std::string text, readFile(path));
    timelines.push_back({path, std::move(text)});
  }
  TILEWRIGHT_ASSIGN(std::string written, timelineOf(*view, timelines));
  TILEWRIGHT_TRY(writeFile(output, {std::as_bytes(std::span(written))}));
  for (const std::string &note : notes)
    std::cout << "note: " << note << "\n";
  std::cout << output << ": " << view->ranks().size() << " ranks, " << view->visits().size()
            << " collectives, " << timelines.size() << " timelines of processes";
  for (const HostClock &clock : view->clocks())
    if (view->clocks().size() > 1)
      std::cout << "\n  the clock of " << clock.host
                << (clock.bound < 0 ? std::string(" is its time of day: no collective was seen "
                                                  "that it shares with the others")
                                    : concat(" is right within ", clock.bound / 1000, " us"));
  std::cout << "\n";
  return Status();
}

Status comm(const CommandLine &line) {
  std::vector<std::string> paths = line.files();
  const std::string what = paths.empty() ? "" : paths.front();
  if (what != "explain" && what != "timeline")
    return Status(Error::commandUsage,
                  concat("comm takes explain or timeline and then files, got '", what, "'"));
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
    "says which rank of a job is missing in which collective, or draws what all ranks did",
    "\nEach process of a job notes its collectives in a file (runtime.flight-recorder), which is "
    "there\n"
    "while it runs, when it hangs, and after it was killed. Without DIR, files are those of your "
    "own\n"
    "jobs on this machine; of a job on several hosts, copy the files of all into one folder.\n\n"
    "explain says for each clique whose ranks do not come together: which are missing, in which\n"
    "collective (with its source line), who waits there for how long, what the missing ones did "
    "last\n"
    "and what became of their processes; and who is slow. Exit code 7 (E6053) if the job stands\n"
    "still, 0 if it does not.\n\n"
    "timeline writes a file for ui.perfetto.dev: a row for each rank, a track for each clique, "
    "arrows\n"
    "from who came last to whom it kept waiting. TRACE.json are timelines that the processes "
    "wrote\n"
    "themselves (TILEWRIGHT_TRACE_FILE='t.{pid}.json'); they are put on the same clock.\n\n"
    "  tilewright comm explain\n"
    "  tilewright comm timeline notes t.*.json --output=job.json\n",
    commFlags,
    comm};

} // namespace tilewright::tools
