#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/machine/CApiModule.h"

#include <optional>
#include <span>
#include <string_view>

using namespace tilewright;
using namespace tilewright::vgpu;

int tilewright_vgpu_launch_checked(tilewright_vgpu_module *module, const char *kernel,
                                   const tilewright_vgpu_config *config,
                                   const void *const *arguments, size_t argument_count,
                                   const char *checks, const char *format, size_t *findings,
                                   char **report, char **error) {
  Result<check::Options> options = check::Options::parse(checks ? checks : "all");
  if (!options.isOk())
    return machine::handOver(std::move(options).takeStatus(), error);
  check::Checker checker(*options);
  machine::LaunchConfig launched = machine::launchConfigOf(*config);
  std::optional<ThreadPool> pool;
  if (config->threads > 1) {
    pool.emplace(config->threads);
    launched.pool = &*pool;
  }
  if (options->any())
    launched.observer = &checker;
  const Status status =
      machine::launch(*module->module, kernel, launched, std::span(arguments, argument_count));
  const std::string_view form = format ? format : "text";
  if (findings)
    *findings = checker.report().findings().size();
  if (report)
    *report = machine::handOver(form == "json"    ? checker.report().json()
                                : form == "sarif" ? checker.report().sarif()
                                                  : checker.report().text());
  return machine::handOver(status, error);
}
