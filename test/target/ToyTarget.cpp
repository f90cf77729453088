#include "ToyTarget.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::toy {
namespace {

class ToyTarget : public target::Target {
public:
  std::string identity() const override { return "toy"; }

  // Tiles of 16 bytes: the stages choose tiles for this machine, not for the host.
  void attach(ModuleOp module) const override {
    MLIRContext *context = module.getContext();
    context->loadDialect<exec::ExecDialect>();
    auto core = exec::CpuAttr::get(context, /*vectorBytes=*/16, /*l1Bytes=*/4096);
    exec::setTarget(module, exec::TargetAttr::get(context, "toy", /*cores=*/1, core));
  }

  // The toy has no library: an op that no kernel computes is refused when the plan is made.
  void addLowerPasses(OpPassManager &) const override {}

  Result<target::GeneratedCode> generate(ModuleOp module, bool) const override {
    target::GeneratedCode code;
    std::string text;
    llvm::raw_string_ostream out(text);
    for (tile::KernelOp kernel : module.getOps<tile::KernelOp>()) {
      kernel.print(out);
      out << "\n";
      code.kernels[kernel.getSymName()] = {.grid = kernel.getPointCount()};
    }
    const auto *bytes = reinterpret_cast<const std::byte *>(text.data());
    if (!text.empty())
      code.objects.emplace_back(bytes, bytes + text.size());
    code.target.triple = triple;
    code.target.cpu = "toy";
    return code;
  }
};

} // namespace

target::Backend backend() {
  return {{"toy"}, [](const Options &options) -> std::unique_ptr<target::Target> {
            return options.compile.target == "toy" ? std::make_unique<ToyTarget>() : nullptr;
          }};
}

} // namespace tilewright::toy
