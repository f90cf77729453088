#include "tilewright/plugin/ffi/Resolver.h"

#include "tilewright/plugin/ffi/Call.h"
#include "tilewright/plugin/ffi/PythonCallback.h"
#include "tilewright/plugin/ffi/Registry.h"
#include "tilewright/runtime/Device.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <optional>

namespace tilewright::plugin::ffi {
namespace {

using runtime::CustomCall;
using runtime::CustomCallRun;
using runtime::CustomCallSite;

CallContext contextOf(const CustomCallRun &run) {
  return {static_cast<const UserData *>(run.userContext), &run.pool, run.runId,
          run.device ? run.device->localId() : 0, run.queue};
}

/// Reinterprets pointers to bytes as untyped pointers.
std::span<const void *const> untyped(std::span<const std::byte *const> pointers) {
  return {reinterpret_cast<const void *const *>(pointers.data()), pointers.size()};
}
std::span<void *const> untyped(std::span<std::byte *const> pointers) {
  return {reinterpret_cast<void *const *>(pointers.data()), pointers.size()};
}

bool isNarrow(const artifact::TensorType &type) {
  return numerics::bitWidth(type.element) < 8 && type.element != numerics::ElementType::pred;
}

class HandlerCall final : public CustomCall {
public:
  HandlerCall(std::unique_ptr<Call> call, Platform platform)
      : call(std::move(call)), platform(platform) {}
  bool takesDeviceMemory() const override { return platform != Platform::host; }
  Status run(const CustomCallRun &run) const override {
    return call->run(untyped(run.operands), untyped(run.results), contextOf(run));
  }

private:
  const std::unique_ptr<Call> call;
  const Platform platform;
};

class CallbackCall final : public CustomCall {
public:
  explicit CallbackCall(PythonCallback callback) : callback(std::move(callback)) {}
  Status run(const CustomCallRun &run) const override {
    return callback.run(untyped(run.operands), untyped(run.results), contextOf(run));
  }

private:
  const PythonCallback callback;
};

} // namespace

Result<std::unique_ptr<CustomCall>> Resolver::prepare(const CustomCallSite &site) {
  const std::string &target = site.step->target;
  std::vector<artifact::TensorType> operands(site.operands.begin(), site.operands.end());
  std::vector<artifact::TensorType> results(site.results.begin(), site.results.end());
  if (isPythonCallback(target)) {
    TILEWRIGHT_ASSIGN(
        PythonCallback callback,
        PythonCallback::create(site.step->attributes, std::move(operands), std::move(results)));
    return std::unique_ptr<CustomCall>(std::make_unique<CallbackCall>(std::move(callback)));
  }
  // For elements below 8 bits, handlers expect another format, which only the host can produce.
  const bool canUseDevice = devices != Platform::host &&
                            !std::any_of(operands.begin(), operands.end(), isNarrow) &&
                            !std::any_of(results.begin(), results.end(), isNarrow);
  Platform platform = canUseDevice ? devices : Platform::host;
  std::optional<XLA_FFI_Handler_Bundle> handlers = Registry::global().find(target, platform);
  if (!handlers && platform != Platform::host)
    handlers = Registry::global().find(target, platform = Platform::host);
  if (!handlers)
    return Status(Error::customCallUnknown,
                  concat("the custom call '", target,
                         "' is not registered; call jax.ffi.register_ffi_target('", target,
                         "', …, platform='cpu')",
                         canUseDevice ? concat(", or with platform='",
                                               devices == Platform::rocm ? "ROCM" : "CUDA",
                                               "' for a handler that works on the GPU's memory,")
                                      : "",
                         " before the program is compiled"));
  TILEWRIGHT_ASSIGN(std::unique_ptr<Call> call,
                    Call::create(target, *handlers, site.step->attributes, std::move(operands),
                                 std::move(results)));
  return std::unique_ptr<CustomCall>(std::make_unique<HandlerCall>(std::move(call), platform));
}

} // namespace tilewright::plugin::ffi
