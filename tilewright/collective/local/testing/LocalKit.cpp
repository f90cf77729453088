#include "tilewright/collective/conformance/Kit.h"
#include "tilewright/collective/local/LocalCollectives.h"

namespace tilewright::collective::conformance {

namespace {
class LocalJob final : public Job {
public:
  explicit LocalJob(std::chrono::nanoseconds timeout) : collectives(timeout) {}
  Engine &engine(int64_t rank) override { return collectives; }

private:
  LocalCollectives collectives;
};
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {
      {"OneProcess",
       [](int64_t ranks, std::chrono::nanoseconds timeout) -> Result<std::unique_ptr<Job>> {
         return std::unique_ptr<Job>(std::make_unique<LocalJob>(timeout));
       }}};
  return all;
}

} // namespace tilewright::collective::conformance
