// GpuFixture: helpers for the tests of GPU programs, NVIDIA's and AMD's.
#ifndef TILEWRIGHT_RUNTIME_CUDA_TESTING_GPUFIXTURE_H
#define TILEWRIGHT_RUNTIME_CUDA_TESTING_GPUFIXTURE_H

#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

#include <numeric>

namespace tilewright::runtime::conformance {

class GpuFixture : public Fixture {
protected:
  /// The error with which the client refuses to load the program.
  Status refused(const Program &program) {
    auto loaded = client->load(std::make_shared<artifact::Executable>(program.executable),
                               *client->defaultAssignment(1, 1));
    EXPECT_FALSE(loaded.isOk());
    return std::move(loaded).takeStatus();
  }
  static artifact::GpuLaunch &launchOf(Program &program, size_t kernel = 0) {
    return *program.executable.kernels[kernel].gpu;
  }

  /// y = x + 1, `steps` times.
  static Program chain(int steps) {
    Program p("chain");
    Slice x = p.parameter(floats()), y = p.result(floats()), t = p.temporary(4 * length);
    p.step(CopyStep{x, t});
    for (int i = 0; i + 1 < steps; ++i)
      p.launch("add_one", length, {t, t});
    p.launch("add_one", length, {t, y});
    return p;
  }

  /// The operand of the program sum(): 0, 1, …
  static constexpr int64_t summed = 512;
  static Program sum() {
    Program p("sum");
    Slice x = p.parameter(floats(summed)), y = p.result(floats(1));
    p.launch("sum", summed, {x, y});
    return p;
  }
  std::unique_ptr<Buffer> ascending() {
    std::vector<float> host(summed);
    std::iota(host.begin(), host.end(), 0.0F);
    return *Buffer::fromHost({host.data(), floats(summed), {}}, memory());
  }
};

} // namespace tilewright::runtime::conformance

#endif // TILEWRIGHT_RUNTIME_CUDA_TESTING_GPUFIXTURE_H
