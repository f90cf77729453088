// Formats a diagnosis as text and as JSON.
#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Json.h"

#include <algorithm>
#include <cstdio>

namespace tilewright::collective::record {

namespace {

constexpr size_t maxCliques = 8, maxRows = 16, maxColumns = 16, maxListed = 16;

std::string timeText(int64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  char text[48];
  if (nanoseconds >= 1'000'000'000)
    std::snprintf(text, sizeof text, "%.1f s", value / 1e9);
  else if (nanoseconds >= 1'000'000)
    std::snprintf(text, sizeof text, "%.1f ms", value / 1e6);
  else
    std::snprintf(text, sizeof text, "%.1f us", value / 1e3);
  return text;
}

/// "rank 3", "ranks 1, 2"; lists only the first of many ranks.
std::string ranksText(const std::vector<int64_t> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < maxListed; ++i)
    text += concat(i ? ", " : "", ranks[i]);
  return ranks.size() > maxListed ? concat(text, " and ", ranks.size() - maxListed, " more") : text;
}

std::string cliqueText(const JobView::Clique &clique) {
  if (clique.members.size() <= maxListed)
    return listed(clique.members);
  return concat("[", clique.members.front(), ", ", clique.members[1], ", … ", clique.members.back(),
                "] (", clique.members.size(), " ranks)");
}

const RankReport *reportOf(const Diagnosis &diagnosis, int64_t rank) {
  for (const RankReport &report : diagnosis.ranks)
    if (report.rank == rank)
      return &report;
  return nullptr;
}

std::string_view nameOf(ProcessState::Kind kind) {
  constexpr std::string_view names[] = {"elsewhere", "gone", "stopped", "runs"};
  return names[static_cast<size_t>(kind)];
}
std::string_view nameOf(State state) {
  constexpr std::string_view names[] = {"none", "started", "waits", "done", "failed"};
  return names[static_cast<size_t>(state)];
}

std::string processText(const RankReport &report) {
  std::string text = concat("process ", report.process, " (pid ", report.pid, " on ", report.host);
  switch (report.state.kind) {
  case ProcessState::Kind::elsewhere:
    return concat(text, ") cannot be observed from this host");
  case ProcessState::Kind::gone:
    return concat(text, report.ending == Ending::well ? ") has ended normally"
                        : report.ending == Ending::failed
                            ? ") has ended after a failure"
                            : ") has ended without a report: it was killed or crashed");
  case ProcessState::Kind::stopped:
    return concat(text, ") is stopped: `kill -CONT ", report.pid, "` resumes it");
  case ProcessState::Kind::runs:
    break;
  }
  return concat(text, ") is ", report.state.letter == 'R' ? "running" : "sleeping");
}

std::string lastText(const RankReport &report) {
  if (!report.last)
    return "has started no collective";
  const std::string what = concat(describe(*report.last), " ", timeText(report.ago), " ago");
  switch (report.lastState) {
  case State::done:
    return concat("finished ", what, " and has started no collective since");
  case State::failed:
    return concat("failed in ", what);
  case State::started:
    return concat("started ", what, " and is not waiting for it yet");
  default:
    return concat("has waited ", timeText(report.ago), " in ", describe(*report.last));
  }
}

std::string rankText(const RankReport &report) {
  if (!report.isRecorded)
    return "has no recording here";
  std::string text = concat(lastText(report), "; ", processText(report));
  if (!report.failure.empty())
    text += concat("; its error: ", report.failure);
  return text;
}

/// "collective 6 of [0, 1]: 'all_reduce.0' (…) at train.py:41"
std::string whereText(const JobView &view, const CliqueReport &report) {
  std::string text =
      concat("collective ", report.sequence, " of ", cliqueText(view.cliques()[report.clique]));
  return report.site ? concat(text, ": ", describe(*report.site)) : text;
}

/// A one-line summary of the problem in a clique.
std::string headline(const JobView &view, const CliqueReport &report) {
  if (report.mismatch)
    return concat("rank ", report.mismatch->rank, " called ", describe(report.mismatch->site),
                  " where rank ", report.mismatch->other, " called ",
                  describe(report.mismatch->otherSite), ", in collective ", report.sequence, " of ",
                  cliqueText(view.cliques()[report.clique]));
  if (!report.missing.empty())
    return concat(ranksText(report.missing), report.missing.size() == 1 ? " is" : " are",
                  " missing from ", whereText(view, report));
  if (!report.blamed.empty())
    return concat(ranksText(report.blamed), " joined ", whereText(view, report),
                  report.blamed.size() == 1 ? " but makes no progress" : " but make no progress");
  return concat("all ranks have joined ", whereText(view, report), ", which is making progress");
}

/// A table with one row per rank and one column for each of the clique's last collectives.
std::string grid(const JobView &view, const CliqueReport &report) {
  const std::vector<int64_t> &members = view.cliques()[report.clique].members;
  std::vector<int64_t> rows = report.missing;
  for (const CliqueReport::Waiting &one : report.waiting)
    rows.push_back(one.rank);
  for (int64_t rank : members)
    rows.push_back(rank);
  std::vector<int64_t> unique;
  for (int64_t rank : rows)
    if (unique.size() < maxRows && std::find(unique.begin(), unique.end(), rank) == unique.end())
      unique.push_back(rank);
  std::sort(unique.begin(), unique.end());

  // Show the stuck collective, some before it, and those that were started after it.
  const uint32_t first = report.sequence - std::min<uint32_t>(report.sequence, maxColumns - 4);
  std::map<std::pair<int64_t, uint32_t>, char> letters;
  uint32_t end = report.sequence + 1;
  for (const JobView::Visit &visit : view.visits()) {
    const auto sequence = static_cast<uint32_t>(visit.position);
    if (visit.clique != report.clique || visit.entry->run != report.run || sequence < first ||
        sequence >= first + maxColumns)
      continue;
    constexpr char names[] = {' ', 's', 'W', '.', 'x'};
    letters[{visit.rank, sequence}] = names[static_cast<size_t>(visit.entry->state)];
    end = std::max(end, sequence + 1);
  }
  // A dot also marks collectives that are older than the recorded entries.
  std::string text = "  collective ";
  const size_t width = std::to_string(end - 1).size() + 1;
  const auto cell = [&](const std::string &content) {
    return std::string(width - std::min(width, content.size()), ' ') + content;
  };
  for (uint32_t sequence = first; sequence < end; ++sequence)
    text += cell(std::to_string(sequence));
  text += "\n";
  for (int64_t rank : unique) {
    std::string name = concat("  rank ", rank);
    name.resize(std::max<size_t>(name.size(), 13), ' ');
    text += name;
    const auto position = view.positionOf(report.clique, rank);
    for (uint32_t sequence = first; sequence < end; ++sequence) {
      const auto found = letters.find({rank, sequence});
      const bool hasCome = position && ahead(*position, uint64_t(report.run) << 32 | sequence) > 0;
      text += cell(found != letters.end() ? std::string(1, found->second)
                   : !position            ? "?"
                   : hasCome              ? "."
                                          : "-");
    }
    text += "\n";
  }
  if (members.size() > unique.size())
    text += concat("  and ", members.size() - unique.size(), " more ranks\n");
  return text + "  . done   W waits   s started   x failed   - not joined   ? no recording\n";
}

std::string waitingText(const CliqueReport &report) {
  std::vector<CliqueReport::Waiting> longest = report.waiting;
  std::sort(longest.begin(), longest.end(), [](const auto &a, const auto &b) {
    return std::pair(-a.nanoseconds, a.rank) < std::pair(-b.nanoseconds, b.rank);
  });
  std::string text;
  for (size_t i = 0; i < longest.size() && i < 4; ++i)
    text +=
        concat("  rank ", longest[i].rank, longest[i].gaveUp ? " gave up after " : " has waited ",
               timeText(longest[i].nanoseconds), "\n");
  if (longest.size() > 4)
    text += concat("  and ", longest.size() - 4, " more ranks wait\n");
  return text;
}

} // namespace

std::string toText(const JobView &view, const Diagnosis &diagnosis,
                   const std::vector<std::string> &notes) {
  const Recording &any = view.recordings().front();
  std::string text =
      concat("job ", any.job, ", epoch ", any.epoch, ": ", any.jobRanks, " ranks in ",
             any.processes, " processes, ", view.ranks().size(), " recorded, on ");
  for (size_t i = 0; i < view.clocks().size() && i < maxListed; ++i)
    text += concat(i ? ", " : "", view.clocks()[i].host);
  text += "\n";
  for (const std::string &note : notes)
    text += concat("note: ", note, "\n");
  size_t shown = 0;
  for (const CliqueReport &report : diagnosis.stuck) {
    if (++shown > maxCliques)
      break;
    text += concat("\n", headline(view, report), "\n", waitingText(report));
    std::vector<int64_t> told = report.missing.empty() ? report.blamed : report.missing;
    if (report.mismatch)
      told = {report.mismatch->rank, report.mismatch->other};
    for (size_t i = 0; i < told.size() && i < 4; ++i)
      if (const RankReport *rank = reportOf(diagnosis, told[i]))
        text += concat("  rank ", told[i], " ", rankText(*rank), "\n");
    text += "\n" + grid(view, report);
  }
  if (shown > maxCliques)
    text += concat("\nand ", diagnosis.stuck.size() - maxCliques, " more cliques wait\n");
  if (!diagnosis.cycle.empty())
    text += concat("\n", ranksText(diagnosis.cycle), " wait for each other in a cycle\n");
  if (diagnosis.stuck.empty()) {
    text += "\nno rank waits for another\n";
    // Report only what each rank did last.
    for (size_t i = 0; i < diagnosis.ranks.size() && i < maxRows; ++i)
      text += concat("  rank ", diagnosis.ranks[i].rank, " ", rankText(diagnosis.ranks[i]), "\n");
  }
  for (size_t i = 0; i < diagnosis.stragglers.size() && i < 3; ++i) {
    const Straggler &one = diagnosis.stragglers[i];
    text += concat(i ? "         " : "\nslowest  ", "rank ", one.rank, ": last in ", one.last,
                   " of ", one.collectives, " collectives, ",
                   timeText(static_cast<int64_t>(one.lateness)), " behind the first on average\n");
  }
  return text;
}

Status verdictOf(const JobView &view, const Diagnosis &diagnosis) {
  if (!diagnosis.isHung)
    return Status();
  const CliqueReport &report = diagnosis.stuck.front();
  std::string text = headline(view, report);
  if (!report.waiting.empty()) {
    std::vector<int64_t> waiting;
    for (const CliqueReport::Waiting &one : report.waiting)
      waiting.push_back(one.rank);
    text += concat("; ", ranksText(waiting), waiting.size() == 1 ? " waits" : " wait", " there");
  }
  for (int64_t rank : report.blamed)
    if (const RankReport *found = reportOf(diagnosis, rank)) {
      text += concat("; rank ", rank, " ", rankText(*found));
      break;
    }
  return Status(Error::jobStandsStill, text);
}

std::string toJson(const JobView &view, const Diagnosis &diagnosis,
                   const std::vector<std::string> &notes) {
  const Recording &any = view.recordings().front();
  JsonWriter json;
  const auto site = [&](std::string_view key, const RecordedSite &of) {
    json.key(key).open('{');
    json.key("name").text(of.name).key("kind").text(numerics::nameOf(of.kind));
    json.key("bytes").number(of.bytes).key("tensor").text(of.tensor).key("place").text(of.place);
    json.close('}');
  };
  const auto numbers = [&](std::string_view key, const std::vector<int64_t> &of) {
    json.key(key).open('[');
    for (int64_t number : of)
      json.number(number);
    json.close(']');
  };
  json.open('{').key("job").text(any.job).key("epoch").number(any.epoch);
  json.key("processes").number(any.processes).key("ranks").number(any.jobRanks);
  json.key("standsStill").boolean(diagnosis.isHung);
  json.key("verdict").text(verdictOf(view, diagnosis).message());
  json.key("stuck").open('[');
  for (const CliqueReport &report : diagnosis.stuck) {
    json.open('{');
    json.key("engine").text(view.cliques()[report.clique].engine);
    numbers("clique", view.cliques()[report.clique].members);
    json.key("run").number(report.run).key("sequence").number(report.sequence);
    if (report.site)
      site("collective", *report.site);
    numbers("missing", report.missing);
    numbers("blamed", report.blamed);
    json.key("waiting").open('[');
    for (const CliqueReport::Waiting &one : report.waiting)
      json.open('{')
          .key("rank")
          .number(one.rank)
          .key("nanoseconds")
          .number(one.nanoseconds)
          .key("gaveUp")
          .boolean(one.gaveUp)
          .close('}');
    json.close(']');
    if (report.mismatch) {
      json.key("mismatch").open('{');
      json.key("rank").number(report.mismatch->rank);
      site("collective", report.mismatch->site);
      json.key("other").number(report.mismatch->other);
      site("otherCollective", report.mismatch->otherSite);
      json.close('}');
    }
    json.close('}');
  }
  json.close(']');
  numbers("circle", diagnosis.cycle);
  json.key("rankReports").open('[');
  for (const RankReport &rank : diagnosis.ranks) {
    json.open('{').key("rank").number(rank.rank).key("recorded").boolean(rank.isRecorded);
    if (rank.isRecorded) {
      json.key("process").number(rank.process).key("pid").number(rank.pid);
      json.key("host").text(rank.host).key("state").text(nameOf(rank.state.kind));
      json.key("failure").text(rank.failure);
      if (rank.last) {
        site("last", *rank.last);
        json.key("lastState").text(nameOf(rank.lastState));
        json.key("nanosecondsAgo").number(rank.ago);
      }
    }
    json.close('}');
  }
  json.close(']').key("stragglers").open('[');
  for (const Straggler &one : diagnosis.stragglers) {
    json.open('{').key("rank").number(one.rank).key("meetings").number(one.collectives);
    json.key("last").number(one.last);
    json.key("nanosecondsLate").number(static_cast<int64_t>(one.lateness)).close('}');
  }
  json.close(']').key("notes").open('[');
  for (const std::string &note : notes)
    json.text(note);
  json.close(']').close('}').line();
  return std::move(json).take();
}

} // namespace tilewright::collective::record
