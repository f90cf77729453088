#include "tilewright/driver/CollectiveKernels.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/predict/Forms.h"
#include "tilewright/support/TargetName.h"
#include "tilewright/target/AllTargets.h"
#include "tilewright/target/Target.h"
#include "tilewright/transform/tile/collectives/BuildCollective.h"
#include "tilewright/transform/tile/solve/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <mutex>

using namespace mlir;

namespace tilewright::driver {

Result<CollectiveCode> compileCollectiveKernel(const numerics::CollectiveKernel &wanted,
                                               const Options &options) {
  TILEWRIGHT_ASSIGN(std::unique_ptr<target::Target> target, target::createTarget(options));
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  target->attach(*module);
  TILEWRIGHT_TRY(tile::buildCollective(*module, wanted).takeStatus());
  PassManager passes(&context);
  solve::buildLayoutPipeline(passes);
  if (failed(verify(*module)) || failed(passes.run(*module)))
    return Status(Code::internal, "the kernel of a collective cannot be lowered");
  TILEWRIGHT_ASSIGN(target::GeneratedCode code, target->generate(*module, false));
  const auto found = code.kernels.find(wanted.name);
  if (found == code.kernels.end() || !found->second.gpu || code.objects.empty())
    return Status(Code::internal, "the kernel of a collective has no code");
  const target::KernelLaunch &launch = found->second;
  const auto *text = reinterpret_cast<const char *>(code.objects.front().data());
  return CollectiveCode{std::string(text, code.objects.front().size()),
                        launch.symbol.empty() ? wanted.name : launch.symbol, *launch.gpu};
}

std::function<bool(numerics::CollectiveKind, double, int64_t)>
choiceOfOwnKernels(const Options &options) {
  struct State {
    std::once_flag once;
    std::optional<predict::FormChoice> choice;
  };
  return [&options, state = std::make_shared<State>()](numerics::CollectiveKind kind, double bytes,
                                                       int64_t members) {
    std::call_once(state->once,
                   [&] { state->choice.emplace(TargetName::of(options.compile.target).chip); });
    return state->choice->prefersOwn(kind, bytes, members);
  };
}

} // namespace tilewright::driver
