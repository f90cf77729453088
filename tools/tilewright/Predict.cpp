// `tilewright predict`: how long a step takes on a cluster that need not exist.
#include "tilewright/predict/Report.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/pictures/PredictPicture.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>

namespace tilewright::tools {
namespace {

constexpr Flag predictFlags[] = {
    {"cluster", "h100x16384",
     "a cluster that is part of the program with its number of chips, or a cluster file"},
    {"show-cluster", "NAME", "print the file of a cluster that is part of the program, and stop"},
    {"slow", "10%", "how much slower the slow rank is (default: 10%)"},
    {"picture", "FILE.svg", "draw the timeline of the step; FILE.html has the report, too"},
    targetFlag,
    traceFlag,
};

} // namespace

Result<predict::Cluster> findCluster(const std::string &text) {
  if (text.empty())
    return Status(Error::flagValue, "--cluster expects a cluster, such as h100x64 or a file");
  return predict::findCluster(text);
}

namespace {

Result<double> parseSlow(const std::string &text) {
  double value = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || std::string_view(rest, static_cast<size_t>(end - rest)) != "%" ||
      !(value >= 0 && value <= 1e6))
    return Status(Error::flagValue,
                  concat("--slow expects a percentage, such as 10%, got '", text, "'"));
  return 1 + value / 100;
}

Status predictCommandRun(const CommandLine &line) {
  if (const std::string name = line.last("show-cluster"); !name.empty()) {
    const std::string_view content = predict::shippedCluster(name);
    if (content.empty())
      return predict::findCluster(name).takeStatus();
    std::cout << content;
    return Status();
  }
  TILEWRIGHT_ASSIGN(std::string path, onlyFile(line, "predict"));
  TILEWRIGHT_ASSIGN(double slow, parseSlow(line.last("slow", "10%")));
  const std::string name = line.last("cluster");
  TILEWRIGHT_ASSIGN(predict::Cluster cluster, findCluster(name));
  TILEWRIGHT_ASSIGN(std::optional<artifact::Executable> executable,
                    readIfExecutable(path, line.options()));
  if (!executable) {
    driver::CompileReport report;
    Options options = optionsOf(line);
    options.communicate.cluster = name;
    TILEWRIGHT_ASSIGN(executable, compileFile(path, options, report));
  }
  TILEWRIGHT_ASSIGN(predict::Prediction prediction,
                    predict::predictStep(*executable, cluster, slow));
  if (const std::string picture = line.last("picture"); !picture.empty()) {
    const std::string title = std::filesystem::path(path).filename().string();
    const std::string drawn = picture.ends_with(".html") ? predictPage(prediction, title)
                                                         : predictPicture(prediction, title);
    TILEWRIGHT_TRY(writeFile(picture, {std::as_bytes(std::span(drawn))}));
  }
  std::cout << predict::describe(prediction);
  return Status();
}

} // namespace

const Command predictCommand{
    "predict",
    "FILE --cluster=h100x16384 [--slow=10%] [--picture=FILE.svg]",
    "predicts the time of a step on a cluster, without its machines",
    "\nFILE is a StableHLO portable artifact or MLIR text, which is compiled and not run, or an\n"
    "executable (.twx). Kernels and collectives are priced by published measurements; ranks that\n"
    "execute the same steps share a clock, so the number of ranks does not matter.\n\n"
    "It prints the time of a step and where it goes: kernels, exposed communication, waiting for\n"
    "the slowest rank; the memory of one rank; what one slow and one dead rank cost; and the\n"
    "timeline. docs/reference/cluster-files.md describes the cluster file.\n\n"
    "  tilewright predict step.twx --cluster=h100x16384\n"
    "  tilewright predict step.mlirbc --cluster=pod.cluster --picture=step.svg\n"
    "  tilewright predict --show-cluster=h100 > pod.cluster\n",
    predictFlags,
    predictCommandRun};

} // namespace tilewright::tools
