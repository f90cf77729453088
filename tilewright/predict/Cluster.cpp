#include "tilewright/predict/Cluster.h"

#include "tilewright/predict/Measured.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/store/WholeFile.h"
#include "tilewright/support/text/Number.h"
#include "tilewright/support/text/Suggest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>

namespace tilewright::predict {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit timeUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                              {"min", 60},  {"h", 3600},  {"s", 1}};
constexpr Unit byteUnits[] = {{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}};
constexpr Unit byteRateUnits[] = {{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"B/s", 1}};
constexpr Unit flopRateUnits[] = {{"PFLOP/s", 1e15}, {"TFLOP/s", 1e12}, {"GFLOP/s", 1e9}};
constexpr Unit shareUnits[] = {{"%", 0.01}};

/// "48GB/s" in SI units; empty if it is not a non-negative number with one of the units.
std::optional<double> quantity(std::string_view word, std::span<const Unit> units) {
  double value = 0;
  const char *end = word.data() + word.size();
  auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  for (const Unit &unit : units)
    if (unit.name == suffix)
      return value * unit.factor;
  return std::nullopt;
}

std::string namesOf(std::span<const Unit> units) {
  std::string names;
  for (const Unit &unit : units)
    names += concat(names.empty() ? "" : ", ", unit.name);
  return names;
}

/// Parses one line after the other.
class Parser {
public:
  explicit Parser(std::string_view name) { cluster.name = name; }

  Status line(std::string_view text) {
    ++number;
    std::istringstream stream{std::string(text.substr(0, text.find('#')))};
    words.clear();
    for (std::string word; stream >> word;)
      words.push_back(std::move(word));
    if (words.empty())
      return Status();
    const std::string &key = words[0];
    if (key == "chip" || key == "products" || key == "collectives") {
      TILEWRIGHT_TRY(expectWords(1, "a name, such as h100"));
      (key == "chip"       ? cluster.chip
       : key == "products" ? cluster.products
                           : cluster.collectives) = words[1];
      return Status();
    }
    if (key == "ranks") {
      TILEWRIGHT_TRY(expectWords(1, "a number of ranks"));
      TILEWRIGHT_ASSIGN(cluster.ranks, count(words[1]));
      hasRanks = true;
      return Status();
    }
    if (key == "peak") {
      TILEWRIGHT_TRY(expectWords(2, "a type and a rate, such as: peak bf16 989TFLOP/s"));
      static const std::vector<std::string> types = {"bf16", "f16", "f8", "f32"};
      if (std::find(types.begin(), types.end(), words[1]) == types.end())
        return failure(
            concat("'peak' knows the types bf16, f16, f8 and f32, got '", words[1], "'"));
      return set(cluster.peak[words[1]], 2, flopRateUnits, /*mayBeZero=*/false);
    }
    if (key == "memory") {
      TILEWRIGHT_TRY(expectWords(2, "a size and a bandwidth, such as: memory 80GB 3TB/s"));
      TILEWRIGHT_TRY(set(cluster.memoryBytes, 1, byteUnits, /*mayBeZero=*/false));
      return set(cluster.memoryBandwidth, 2, byteRateUnits, /*mayBeZero=*/false);
    }
    if (key == "level")
      return level();
    struct Single {
      std::string_view key;
      double &value;
      std::span<const Unit> units;
    };
    const Single singles[] = {{"launch", cluster.launch, timeUnits},
                              {"jitter", cluster.jitter, shareUnits},
                              {"contention", cluster.contention, shareUnits},
                              {"detect", cluster.detect, timeUnits},
                              {"restart", cluster.restart, timeUnits}};
    for (const Single &single : singles)
      if (single.key == key) {
        TILEWRIGHT_TRY(expectWords(1, concat("one value with a unit of ", namesOf(single.units))));
        TILEWRIGHT_TRY(set(single.value, 1, single.units, /*mayBeZero=*/true));
        if (key == "contention" && cluster.contention >= 1)
          return failure(concat("'contention' must be below 100%, got '", words[1], "'"));
        return Status();
      }
    const std::vector<std::string> keys = {"chip",   "products",   "collectives", "ranks",
                                           "peak",   "memory",     "level",       "launch",
                                           "jitter", "contention", "detect",      "restart"};
    return failure(concat("unknown word '", key, "'", didYouMean(key, keys),
                          "; a line begins with chip, products, collectives, ranks, peak, "
                          "memory, level, launch, jitter, contention, detect or restart"));
  }

  Result<Cluster> finish() {
    number = 0;
    if (cluster.chip.empty())
      return failure("has no line 'chip NAME'");
    for (std::string *measured : {&cluster.products, &cluster.collectives})
      if (measured->empty())
        *measured = cluster.chip;
    if (cluster.peak.empty())
      return failure("has no line 'peak TYPE RATE'");
    if (cluster.memoryBandwidth <= 0)
      return failure("has no line 'memory SIZE BANDWIDTH'");
    if (cluster.levels.empty())
      return failure("has no line 'level NAME RANKS …'");
    if (cluster.levels[0].isMeasured &&
        CollectiveTimes::measured().maxRanks(cluster.collectives) == 0)
      return failure(concat("level '", cluster.levels[0].name,
                            "' is measured, but there are no measurements of '",
                            cluster.collectives,
                            "'; give it latency and bandwidth, or choose 'collectives' among h100, "
                            "b200, gb200, gb300 and mi355x"));
    if (cluster.products != cluster.chip) {
      const std::string_view text = shippedCluster(cluster.products);
      if (text.empty())
        return failure(concat("takes the rates of products from '", cluster.products,
                              "', but there is no such chip; choose among h100, b200 and mi355x"));
      TILEWRIGHT_ASSIGN(Cluster other, parseCluster(text, cluster.products));
      for (const auto &[type, rate] : cluster.peak)
        if (auto found = other.peak.find(type); found != other.peak.end())
          cluster.productScale[type] = rate / found->second;
    }
    return withRanks(cluster, hasRanks ? cluster.ranks : cluster.levels.back().ranks);
  }

private:
  Status failure(const std::string &what) const {
    return Status(Error::clusterMalformed, number ? concat(cluster.name, ":", number, ": ", what)
                                                  : concat("cluster '", cluster.name, "' ", what));
  }
  Status expectWords(size_t count, const std::string &what) const {
    if (words.size() == count + 1)
      return Status();
    return failure(concat("'", words[0], "' takes ", what, "; got ", words.size() - 1, " words"));
  }
  Status set(double &value, size_t word, std::span<const Unit> units, bool mayBeZero) const {
    auto parsed = quantity(words[word], units);
    if (!parsed || (!mayBeZero && *parsed == 0))
      return failure(concat("'", words[0], "' takes a ", mayBeZero ? "" : "positive ",
                            "number with a unit of ", namesOf(units), ", got '", words[word], "'"));
    value = *parsed;
    return Status();
  }
  Result<int64_t> count(const std::string &word) const {
    const auto value = numberIn<int64_t>(word).value_or(0);
    if (value < 1 || value > int64_t(1) << 24)
      return failure(
          concat("'", words[0], "' takes a number of ranks from 1 to 16777216, got '", word, "'"));
    return value;
  }

  Status level() {
    if (words.size() < 4)
      return failure("'level' takes a name, the ranks in one domain, and 'measured' or 'latency "
                     "TIME bandwidth RATE'");
    FabricLevel level;
    level.name = words[1];
    TILEWRIGHT_ASSIGN(level.ranks, count(words[2]));
    if (words[3] == "measured" && words.size() == 4) {
      level.isMeasured = true;
      if (!cluster.levels.empty())
        return failure(concat("only the innermost level can be measured, got '", level.name,
                              "' after '", cluster.levels.back().name, "'"));
    } else if (words.size() == 7 && words[3] == "latency" && words[5] == "bandwidth") {
      TILEWRIGHT_TRY(set(level.latency, 4, timeUnits, /*mayBeZero=*/true));
      TILEWRIGHT_TRY(set(level.bandwidth, 6, byteRateUnits, /*mayBeZero=*/false));
    } else {
      return failure(concat("level '", level.name,
                            "' takes 'measured' or 'latency TIME bandwidth RATE', got '", words[3],
                            "'"));
    }
    if (!cluster.levels.empty() && level.ranks % cluster.levels.back().ranks != 0)
      return failure(concat("a domain of level '", level.name, "' has ", level.ranks,
                            " ranks, which must be a multiple of the ", cluster.levels.back().ranks,
                            " ranks of level '", cluster.levels.back().name, "'"));
    cluster.levels.push_back(std::move(level));
    return Status();
  }

  Cluster cluster;
  size_t number = 0; // of the line; 0 for the whole file
  bool hasRanks = false;
  std::vector<std::string> words;
};

struct Shipped {
  std::string_view name, text;
};
constexpr Shipped shipped[] = {
#include "tilewright/predict/ShippedClusters.inc"
};

} // namespace

Result<Cluster> parseCluster(std::string_view text, std::string_view name) {
  Parser parser(name);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    TILEWRIGHT_TRY(parser.line(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.finish();
}

std::string_view shippedCluster(std::string_view name) {
  for (const Shipped &one : shipped)
    if (one.name == name)
      return one.text;
  return {};
}

std::vector<std::string> shippedClusters() {
  std::vector<std::string> names;
  for (const Shipped &one : shipped)
    names.emplace_back(one.name);
  return names;
}

Result<Cluster> withRanks(Cluster cluster, int64_t ranks) {
  const FabricLevel &last = cluster.levels.back();
  if (ranks > last.ranks)
    return Status(Error::clusterMalformed,
                  concat("cluster '", cluster.name, "' has ", ranks, " ranks, but its last level '",
                         last.name, "' joins ", last.ranks, "; add a level or raise its ranks"));
  cluster.ranks = ranks;
  return cluster;
}

/// Splits "h100x64" into name and number.
static std::pair<std::string, std::optional<int64_t>> splitName(const std::string &text) {
  const size_t cross = text.rfind('x');
  if (cross == std::string::npos || cross == 0)
    return {text, std::nullopt};
  const auto ranks = numberIn<int64_t>(std::string_view(text).substr(cross + 1));
  return {ranks ? text.substr(0, cross) : text, ranks};
}

Result<Cluster> findCluster(const std::string &text) {
  if (std::filesystem::exists(text)) {
    const std::optional<std::string> content = readWholeFile(text);
    if (!content)
      return Status(Error::clusterMalformed, concat("cannot read the cluster file '", text, "'"));
    return parseCluster(*content, text);
  }
  auto [name, ranks] = splitName(text);
  const std::string_view content = shippedCluster(name);
  if (content.empty()) {
    const std::vector<std::string> names = shippedClusters();
    std::string known;
    for (const std::string &one : names)
      known += concat(known.empty() ? "" : ", ", one);
    return Status(Error::clusterMalformed,
                  concat("there is no file and no cluster '", text, "'", didYouMean(name, names),
                         " (the clusters are ", known, ", each with a number of chips: h100x64)"));
  }
  TILEWRIGHT_ASSIGN(Cluster cluster, parseCluster(content, name));
  if (!ranks)
    return cluster;
  if (*ranks < 1)
    return Status(Error::clusterMalformed,
                  concat("a cluster needs at least 1 chip, got ", *ranks, " in '", text, "'"));
  return withRanks(std::move(cluster), *ranks);
}

Status checkFits(const Cluster &cluster, int64_t ranks) {
  if (ranks <= cluster.ranks)
    return Status();
  return Status(Error::clusterMismatch,
                concat("the program is for ", ranks, " ranks, but cluster '", cluster.name,
                       "' has ", cluster.ranks,
                       "; give it more ranks, as in --cluster=", cluster.name, "x", ranks));
}

} // namespace tilewright::predict
