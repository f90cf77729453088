// The conformance suite on the GPUs of this build's virtual driver.
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

namespace tilewright::runtime::conformance {
namespace {

class CudaKit final : public Kit {
public:
  Result<std::unique_ptr<Client>> makeClient(const RuntimeOptions &options) override {
    return cuda::testClient(options);
  }
  artifact::Target target() override { return {std::string(artifact::gpuTriple), "sm_80", {}}; }
  const std::vector<std::byte> &code() override {
    static const std::vector<std::byte> ptx = cuda::bytesOf(cuda::testPtx);
    return ptx;
  }
  artifact::Kernel kernel(const std::string &symbol, int64_t n) override {
    return cuda::testKernel(symbol, n);
  }
};

} // namespace

Kit &kit() {
  static CudaKit ofProgram;
  return ofProgram;
}

} // namespace tilewright::runtime::conformance
