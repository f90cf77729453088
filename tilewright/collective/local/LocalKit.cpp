#include "tilewright/collective/conformance/Kit.h"
#include "tilewright/collective/local/LocalCollectives.h"

namespace tilewright::collective::conformance {

namespace {
class LocalJob final : public Job {
public:
  explicit LocalJob(std::chrono::nanoseconds patience) : meetings(patience) {}
  Engine &engine(int64_t rank) override { return meetings; }

private:
  LocalCollectives meetings;
};
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {
      {"OneProcess",
       [](int64_t ranks, std::chrono::nanoseconds patience) -> Result<std::unique_ptr<Job>> {
         return std::unique_ptr<Job>(std::make_unique<LocalJob>(patience));
       }}};
  return all;
}

} // namespace tilewright::collective::conformance
