#include "tilewright/predict/Report.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace tilewright::predict {

namespace {

template <typename... Values> std::string formatted(const char *format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string gigabytes(double bytes) {
  return bytes < 1e6   ? formatted("%.1f KB", bytes / 1e3)
         : bytes < 1e9 ? formatted("%.1f MB", bytes / 1e6)
                       : formatted("%.2f GB", bytes / 1e9);
}

Memory memoryOf(const artifact::Executable &executable) {
  Memory memory;
  for (const artifact::Allocation &allocation : executable.allocations) {
    if (allocation.space != 0)
      continue;
    if (allocation.storage == artifact::Storage::parameter)
      memory.parameters += allocation.bytes;
    else if (allocation.storage == artifact::Storage::result)
      memory.results += allocation.bytes;
  }
  memory.temporaries = executable.arenaBytes[0];
  memory.constants = static_cast<int64_t>(executable.constants.size());
  return memory;
}

/// Seconds by name, over all iterations, for one class.
void addTimes(const std::vector<Node> &nodes, const Program &program, uint32_t rankClass,
              double times, std::map<std::string, double> &kernels,
              std::map<std::string, double> &exchanges) {
  for (const Node &node : nodes) {
    const double all = times * static_cast<double>(node.iterations);
    addTimes(node.body, program, rankClass, all, kernels, exchanges);
    if (node.ops.empty())
      continue;
    for (const Op &op : node.ops[rankClass]) {
      if (op.kind == Op::Kind::compute)
        kernels[program.names[op.index]] += all * op.seconds;
      else if (op.kind == Op::Kind::start)
        exchanges[program.exchanges[op.index].name] += all * program.exchanges[op.index].seconds;
    }
  }
}

std::string longest(const std::map<std::string, double> &times, double step, size_t count) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto &[name, seconds] : times)
    sorted.push_back({seconds, name});
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (size_t i = 0; i < std::min(count, sorted.size()); ++i)
    text += formatted("  %10s %5.1f %%  %s\n", humanSeconds(sorted[i].first).c_str(),
                      100 * sorted[i].first / std::max(step, 1e-12), sorted[i].second.c_str());
  return text;
}

/// One row of characters for the compute queue of a class and one for each lane.
std::string timeline(const Prediction &prediction) {
  constexpr size_t columns = 72;
  double end = 0;
  for (const Span &span : prediction.step.spans)
    end = std::max(end, span.end);
  if (end <= 0)
    return "";
  std::map<std::pair<uint32_t, uint32_t>, std::string> rows; // class, then 0 or lane + 1
  for (const Span &span : prediction.step.spans) {
    const uint32_t row = span.what == Span::What::exchange ? span.lane + 1 : 0;
    std::string &text =
        rows.try_emplace({span.rankClass, row}, std::string(columns, ' ')).first->second;
    const auto first = static_cast<size_t>(span.begin / end * (columns - 1e-9)),
               last = static_cast<size_t>(span.end / end * (columns - 1e-9));
    const char mark = span.what == Span::What::compute    ? '#'
                      : span.what == Span::What::exchange ? '='
                                                          : '.';
    // A column that several spans share shows the kernel.
    for (size_t column = first; column <= last; ++column)
      if (text[column] != '#')
        text[column] = mark;
  }
  std::string text;
  for (const auto &[key, row] : rows)
    text += concat("  ", key.second == 0 ? std::string("compute") : concat("lane ", key.second - 1),
                   std::string(key.second == 0 ? 1 : 2, ' '), "|", row, "| ",
                   prediction.program.classes.size() > 1 && key.second == 0
                       ? prediction.program.classes[key.first].name
                       : std::string(),
                   "\n");
  return concat("timeline  0 to ", humanSeconds(end),
                "; # kernels, = communication, . waiting, blank for iterations that repeat\n",
                text);
}

} // namespace

std::string humanSeconds(double seconds) {
  return seconds < 1e-3   ? formatted("%.1f us", seconds * 1e6)
         : seconds < 1    ? formatted("%.2f ms", seconds * 1e3)
         : seconds < 1000 ? formatted("%.2f s", seconds)
                          : formatted("%.0f s", seconds);
}

double Prediction::hidden() const {
  const ClassTimes &times = smooth.classes[critical];
  return times.exchange > 0 ? std::max(0.0, 1 - times.exposed / times.exchange) : 1;
}

Result<Prediction> predictStep(const artifact::Executable &executable, const Cluster &cluster,
                               double slowFactor) {
  TILEWRIGHT_ASSIGN(PricedProgram priced, priceProgram(executable, cluster));
  Prediction result;
  result.cluster = cluster;
  result.ranks = executable.replicas * executable.partitions;
  result.program = std::move(priced.program);
  result.remarks = std::move(priced.remarks);
  result.memory = memoryOf(executable);
  result.slowFactor = slowFactor;
  SimulateOptions options{.jitter = 0, .contention = cluster.contention, .maxSpans = 0};
  TILEWRIGHT_ASSIGN(result.smooth, simulate(result.program, options));
  for (uint32_t i = 1; i < result.smooth.classes.size(); ++i)
    if (result.smooth.classes[i].compute > result.smooth.classes[result.critical].compute)
      result.critical = i;
  options.jitter = cluster.jitter;
  const Program slow = withSlowRank(result.program, result.critical, slowFactor);
  TILEWRIGHT_ASSIGN(Outcome delayed, simulate(slow, options));
  result.slowSeconds = delayed.seconds;
  options.maxSpans = 20000;
  TILEWRIGHT_ASSIGN(result.step, simulate(result.program, options));
  return result;
}

std::string describe(const Prediction &prediction) {
  const Outcome &step = prediction.step, &smooth = prediction.smooth;
  const ClassTimes &times = smooth.classes[prediction.critical];
  const Cluster &cluster = prediction.cluster;
  const double seconds = std::max(smooth.seconds, 1e-12);
  std::string text = concat("cluster   ", cluster.name, ": ", prediction.ranks, " of ",
                            cluster.ranks, " chips '", cluster.chip, "'\n");
  text += concat("step      ", humanSeconds(step.seconds), ", of which ",
                 humanSeconds(step.seconds - smooth.seconds), " waiting for the slowest rank (",
                 formatted("%.1f", 100 * cluster.jitter), " % jitter)\n");
  text += concat("compute   ", humanSeconds(times.compute),
                 formatted(", %.1f %% of the step\n", 100 * times.compute / seconds));
  text += concat(
      "exposed   ", humanSeconds(times.exposed),
      formatted(", %.1f %% of the step; communication takes ", 100 * times.exposed / seconds),
      humanSeconds(times.exchange),
      formatted(", %.0f %% of it is hidden\n", 100 * prediction.hidden()));
  const Memory &memory = prediction.memory;
  text += concat("memory    ", gigabytes(static_cast<double>(memory.sum())), " of ",
                 gigabytes(cluster.memoryBytes), ": parameters ",
                 gigabytes(static_cast<double>(memory.parameters)), ", results ",
                 gigabytes(static_cast<double>(memory.results)), ", temporaries ",
                 gigabytes(static_cast<double>(memory.temporaries)), ", constants ",
                 gigabytes(static_cast<double>(memory.constants)), "\n");
  if (static_cast<double>(memory.sum()) > cluster.memoryBytes)
    text += "          the program does not fit into the chip's memory\n";
  text += concat("slow      one rank ", formatted("%.0f", 100 * (prediction.slowFactor - 1)),
                 " % slower: ", humanSeconds(prediction.slowSeconds),
                 formatted(", %+.1f %%\n",
                           100 * (prediction.slowSeconds / std::max(step.seconds, 1e-12) - 1)));
  text += concat("dead      one rank dead: noticed after ", humanSeconds(cluster.detect),
                 ", the job continues after ", humanSeconds(cluster.detect + cluster.restart),
                 formatted(", the time of %.0f steps",
                           (cluster.detect + cluster.restart) / std::max(step.seconds, 1e-12)),
                 ", and repeats the steps since its last checkpoint\n");
  std::map<std::string, double> kernels, exchanges;
  addTimes(prediction.program.nodes, prediction.program, prediction.critical, 1, kernels,
           exchanges);
  text += concat("kernels   the longest of ", kernels.size(), "\n", longest(kernels, seconds, 5));
  if (!exchanges.empty())
    text +=
        concat("exchanges the longest of ", exchanges.size(), "\n", longest(exchanges, seconds, 5));
  text += timeline(prediction);
  for (const std::string &remark : prediction.remarks)
    text += concat("note      ", remark, "\n");
  return text;
}

} // namespace tilewright::predict
