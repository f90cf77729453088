#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Number.h"
#include "tilewright/vgpu/check/Checker.h"

#include <cstdlib>

namespace tilewright::vgpu::check {

static Status unknown(std::string_view what, std::string_view value, std::string_view known) {
  return Status(Error::checkOption,
                concat("unknown value '", value, "' for ", what, "; expected ", known));
}

Result<Options> Options::parse(std::string_view checks) {
  Options options;
  while (!checks.empty()) {
    const size_t comma = checks.find(',');
    const std::string_view word = checks.substr(0, comma);
    checks = comma == std::string_view::npos ? std::string_view() : checks.substr(comma + 1);
    if (word == "all" || word == "1" || word == "on")
      options.races = options.uninit = options.bounds = options.barriers = true;
    else if (word == "races")
      options.races = true;
    else if (word == "uninit")
      options.uninit = true;
    else if (word == "bounds")
      options.bounds = true;
    else if (word == "barriers")
      options.barriers = true;
    else if (word == "strict")
      options.strict = true;
    else if (word == "count")
      continue; // an option of the counter, which reads the same list
    else if (word == "off" || word == "0" || word == "none")
      options.races = options.uninit = options.bounds = options.barriers = false;
    else if (!word.empty())
      return unknown(
          "the list of checks", word,
          "all, off, or a comma-separated list of races, uninit, bounds, barriers and strict");
  }
  return options;
}

Status Options::setOrder(std::string_view order) {
  if (order.empty() || order == "eager") {
    completion = machine::Completion::eager;
  } else if (order == "latest") {
    completion = machine::Completion::latest;
  } else if (order.starts_with("seed:")) {
    const std::optional<uint64_t> number = numberIn<uint64_t>(order.substr(5));
    if (!number)
      return unknown("the order of asynchronous operations", order, "eager, latest or seed:7");
    seed = *number;
    completion = machine::Completion::seeded;
  } else {
    return unknown("the order of asynchronous operations", order, "eager, latest or seed:7");
  }
  return Status();
}

Result<Options> Options::fromEnvironment() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  TILEWRIGHT_ASSIGN(Options options, parse(variable("TILEWRIGHT_VGPU_CHECK")));
  options.path = variable("TILEWRIGHT_VGPU_REPORT");
  std::string_view format = variable("TILEWRIGHT_VGPU_REPORT_FORMAT");
  if (format.empty())
    format = options.path.ends_with(".json")    ? "json"
             : options.path.ends_with(".sarif") ? "sarif"
                                                : "text";
  if (format == "text")
    options.format = ReportFormat::text;
  else if (format == "json")
    options.format = ReportFormat::json;
  else if (format == "sarif")
    options.format = ReportFormat::sarif;
  else
    return unknown("TILEWRIGHT_VGPU_REPORT_FORMAT", format, "text, json or sarif");
  if (const std::string_view limit = variable("TILEWRIGHT_VGPU_CHECK_LIMIT"); !limit.empty()) {
    const auto number = numberIn<decltype(options.limit)>(limit);
    if (!number || *number == 0)
      return unknown("TILEWRIGHT_VGPU_CHECK_LIMIT", limit, "a number of findings, at least 1");
    options.limit = *number;
  }
  return options;
}

} // namespace tilewright::vgpu::check
