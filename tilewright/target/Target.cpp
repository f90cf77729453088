#include "tilewright/target/Target.h"

#include "tilewright/support/Concat.h"

namespace tilewright::target {

static std::vector<Backend> &registered() {
  static std::vector<Backend> all;
  return all;
}

void registerBackend(Backend backend) { registered().push_back(std::move(backend)); }

Result<std::unique_ptr<Target>> createTarget(const Options &options) {
  std::string known;
  for (const Backend &backend : registered()) {
    if (std::unique_ptr<Target> target = backend.create(options))
      return target;
    for (std::string_view chip : backend.chips)
      known += concat(known.empty() ? "" : ", ", chip);
  }
  return Status(Error::compileTarget, concat("unknown compile.target '", options.compile.target,
                                             "'; known targets are ", known));
}

} // namespace tilewright::target
