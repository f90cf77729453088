#include "tilewright/vgpu/run/Collect.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/observe/Summary.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace tilewright::vgpu::run {

namespace {
struct Kernel {
  uint64_t count = 0, nanoseconds = 0;
};
struct Totals {
  size_t processes = 0;
  std::map<std::string, Kernel> kernels;
  std::map<std::string, uint64_t> failures, refusals;
  std::set<std::string> missing;
  std::vector<std::pair<std::string, std::string>> reports;
};
} // namespace

static uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

static void read(const std::filesystem::path &path, Totals &totals) {
  std::ifstream in(path);
  ++totals.processes;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      fields.push_back(driver::unescaped(std::string_view(line).substr(begin, end - begin)));
      begin = end + 1;
    }
    fields.resize(4);
    if (fields[0] == "kernel") {
      totals.kernels[fields[1]].count += number(fields[2]);
      totals.kernels[fields[1]].nanoseconds += number(fields[3]);
    } else if (fields[0] == "failure") {
      totals.failures[fields[1]] += number(fields[2]);
    } else if (fields[0] == "refusal") {
      totals.refusals[fields[1]] += number(fields[2]);
    } else if (fields[0] == "missing") {
      totals.missing.insert(fields[1]);
    } else if (fields[0] == "report") {
      totals.reports.emplace_back(fields[1], fields[2]);
    }
  }
}

static std::string milliseconds(uint64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%12.3f ms", static_cast<double>(nanoseconds) / 1e6);
  return text;
}

static std::string times(uint64_t count) {
  return count == 1 ? std::string() : concat(" (", count, " times)");
}

Collected collect(const std::string &folder) {
  Totals totals;
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".summary")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path &path : paths)
    read(path, totals);

  uint64_t launches = 0;
  std::vector<std::pair<std::string, Kernel>> kernels(totals.kernels.begin(), totals.kernels.end());
  for (const auto &[name, kernel] : kernels)
    launches += kernel.count;
  std::sort(kernels.begin(), kernels.end(), [](const auto &left, const auto &right) {
    return std::tie(right.second.nanoseconds, left.first) <
           std::tie(left.second.nanoseconds, right.first);
  });
  Collected result;
  std::string &text = result.text;
  text = concat("virtual GPU: ", launches, launches == 1 ? " launch of " : " launches of ",
                kernels.size(), kernels.size() == 1 ? " kernel" : " kernels");
  if (totals.processes > 1)
    text += concat(" in ", totals.processes, " processes");
  text += "\n";
  for (const auto &[name, kernel] : kernels) {
    char count[24];
    std::snprintf(count, sizeof(count), "%8llu", static_cast<unsigned long long>(kernel.count));
    text += concat("  ", count, " x ", milliseconds(kernel.nanoseconds), "  ", name, "\n");
  }
  for (const auto &[failure, count] : totals.failures)
    text += concat("failed", times(count), ": ", failure, "\n");
  for (const auto &[refusal, count] : totals.refusals)
    text += concat("refused", times(count), ": ", refusal, "\n");
  for (const auto &[check, report] : totals.reports)
    text += concat("\n", report);
  if (!totals.missing.empty())
    text += concat("requested driver functions that do not exist: ", listed(totals.missing), "\n");
  result.hasFailures = !totals.failures.empty();
  result.hasFindings = !totals.reports.empty();
  return result;
}

} // namespace tilewright::vgpu::run
