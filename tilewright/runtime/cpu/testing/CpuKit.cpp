// The conformance suite on CPU devices.
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cpu/CpuBackend.h"
#include "tilewright/runtime/cpu/object/testing/Object.h"

namespace tilewright::runtime::conformance {
namespace {

constexpr const char *source = R"(
#define KERNEL(name) void name(void **b, long begin, long end, char *scratch)
KERNEL(add_one) {
  for (long i = begin; i < end; ++i) ((float *)b[1])[i] = ((float *)b[0])[i] + 1;
}
KERNEL(add) {
  for (long i = begin; i < end; ++i)
    ((float *)b[2])[i] = ((float *)b[0])[i] + ((float *)b[1])[i];
}
KERNEL(slow) {
  for (volatile long wait = 0; wait < 2000000; ++wait) {}
  add_one(b, begin, end, scratch);
}
KERNEL(increment) { *(int *)b[1] = *(int *)b[0] + 1; }
KERNEL(less) { *(char *)b[2] = *(int *)b[0] < *(int *)b[1]; }
)";

class CpuKit final : public Kit {
public:
  Result<std::unique_ptr<Client>> makeClient(const RuntimeOptions &options) override {
    ClientOptions client;
    client.runtime = options;
    return cpu::createClient(client);
  }
  artifact::Target target() override { return {"x86_64-unknown-linux-gnu", "x86-64", {}}; }
  const std::vector<std::byte> &code() override {
    static const std::vector<std::byte> object = cpu::compileForTest(source);
    return object;
  }
  artifact::Kernel kernel(const std::string &symbol, int64_t n) override {
    return {symbol, n, 0, symbol == "slow" ? 1'000'000 : 1};
  }
};

} // namespace

Kit &kit() {
  static CpuKit ofProgram;
  return ofProgram;
}

} // namespace tilewright::runtime::conformance
