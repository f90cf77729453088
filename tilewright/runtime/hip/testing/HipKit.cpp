// The conformance suite on the GPUs of this build's virtual libamdhip64.
#include "tilewright/runtime/hip/testing/HipKit.h"
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace tilewright::runtime::hip {

const std::vector<std::byte> &testObject(const std::string &chip) {
  static std::map<std::string, std::vector<std::byte>> read;
  std::vector<std::byte> &object = read[chip];
  if (object.empty()) {
    // CMake puts it beside the test program.
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    std::ifstream file(self.parent_path() / ("kernels-" + chip + ".hsaco"), std::ios::binary);
    object = cuda::bytesOf(std::string(std::istreambuf_iterator(file), {}));
    EXPECT_FALSE(object.empty()) << chip;
  }
  return object;
}

} // namespace tilewright::runtime::hip

namespace tilewright::runtime::conformance {
namespace {

class HipKit final : public Kit {
public:
  Result<std::unique_ptr<Client>> makeClient(const RuntimeOptions &options) override {
    return cuda::testClient(options);
  }
  artifact::Target target() override {
    return {std::string(artifact::amdTriple), cuda::testChip(), {}};
  }
  const std::vector<std::byte> &code() override { return hip::testObject(cuda::testChip()); }
  artifact::Kernel kernel(const std::string &symbol, int64_t n) override {
    return cuda::testKernel(symbol, n);
  }
};

} // namespace

Kit &kit() {
  static HipKit ofProgram;
  return ofProgram;
}

} // namespace tilewright::runtime::conformance
