#include "tools/tilewright/Native.h"

#include "tilewright/numerics/PackedElements.h"
#include "tilewright/runtime/candidates/Candidates.h"
#include "tilewright/runtime/cpu/Program.h"
#include "tilewright/runtime/cpu/StepTracer.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tools/tilewright/Checks.h"

#include <cstring>
#include <optional>

using namespace tilewright::interpret;

namespace tilewright::tools {
namespace {

using runtime::CustomCall;
using runtime::CustomCallRun;
using runtime::CustomCallSite;

class CheckCall : public CustomCall {
public:
  CheckCall(Check check, ElementType type, Shape shape)
      : check(check), type(type), shape(std::move(shape)) {}

  Status run(const CustomCallRun &run) const override {
    auto view = [&](size_t i) { return Tensor::view(type, shape, run.operands[i], nullptr); };
    return check(view(0), view(1));
  }

private:
  Check check;
  ElementType type;
  Shape shape;
};

class Checks : public runtime::CustomCallResolver {
public:
  Result<std::unique_ptr<CustomCall>> prepare(const CustomCallSite &site) override {
    Check check = checkNamed(site.step->target);
    if (!check)
      return std::unique_ptr<CustomCall>();
    if (site.operands.size() != 2 || site.operands[0] != site.operands[1])
      return Status(Error::interpretCheck,
                    concat(site.step->target, " expects two tensors of the same type"));
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(site.operands[0].dims));
    return std::unique_ptr<CustomCall>(
        std::make_unique<CheckCall>(check, site.operands[0].element, std::move(shape)));
  }
};

} // namespace

Result<RuntimeValues> runNative(artifact::Executable executable, const RuntimeValues &inputs,
                                const Options &options, ThreadPool &pool, Donate donate) {
  if (options.runtime.tune || !options.runtime.tuningFile.empty())
    runtime::Candidates::ofProcess().set(runtime::Candidates::settingsOf(options.runtime));
  Checks resolver;
  std::optional<trace::Span> loading(std::in_place, "load", "load executable");
  TILEWRIGHT_ASSIGN(auto program,
                    runtime::cpu::Program::load(std::move(executable), {.customCalls = &resolver}));
  loading.reset();
  const artifact::Executable &loaded = program->executable();

  // The context allocates memory aligned to 64 bytes and counts it.
  Context context(options.interpret);
  std::vector<Tensor> owned;
  std::vector<std::byte *> parameters, results;
  for (const RuntimeValue &input : inputs) {
    TILEWRIGHT_ASSIGN(Tensor copy,
                      Tensor::allocate(input.tensor().type(), input.tensor().shape(), context));
    // The first bytes of the copy, if elements are packed.
    numerics::packElements(copy.type(), copy.mutableData(), input.tensor().data(),
                           copy.elementCount());
    parameters.push_back(copy.mutableData());
    owned.push_back(std::move(copy));
  }
  RuntimeValues outputs;
  for (const artifact::ResultInfo &result : loaded.results) {
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(result.type.dims));
    TILEWRIGHT_ASSIGN(Tensor tensor,
                      Tensor::allocate(result.type.element, std::move(shape), context));
    results.push_back(tensor.mutableData());
    if (donate == Donate::whatIsMarked && result.aliasOf != artifact::none) {
      std::memcpy(tensor.mutableData(), parameters[result.aliasOf],
                  static_cast<size_t>(tensor.byteCount()));
      parameters[result.aliasOf] = tensor.mutableData();
    }
    outputs.emplace_back(std::move(tensor));
  }
  TILEWRIGHT_ASSIGN(std::shared_ptr<std::byte> arena, context.allocate(loaded.arenaBytes[0]));
  TILEWRIGHT_ASSIGN(std::shared_ptr<std::byte> pinned, context.allocate(loaded.arenaBytes[1]));
  runtime::cpu::RunContext run{.pool = pool, .arenas = {arena.get(), pinned.get()}};
  std::optional<runtime::cpu::StepTracer> tracer;
  std::optional<runtime::cpu::LiveTemporaries> live;
  if (trace::isOn())
    run.tracer = &tracer.emplace(live.emplace(loaded));
  trace::Span span("program", loaded.name.empty() ? "program" : loaded.name);
  TILEWRIGHT_TRY(program->run(parameters, results, run));
  for (RuntimeValue &output : outputs) {
    const Tensor &packed = output.tensor();
    if (!numerics::isPacked(packed.type()))
      continue;
    TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(packed.type(), packed.shape(), context));
    numerics::unpackElements(packed.type(), tensor.mutableData(), packed.data(),
                             packed.elementCount());
    output = RuntimeValue(std::move(tensor));
  }
  return outputs;
}

} // namespace tilewright::tools
