#include "tilewright/collective/ucx/UcxEngine.h"

namespace tilewright::collective::ucx {

Result<std::unique_ptr<UcxEngine>>
UcxEngine::connect(const Membership &membership, KeyValueStore &store, const Options &options) {
  TILEWRIGHT_ASSIGN(auto wire,
                    MessageEngine::connect(membership, options, [&](FailureBox &failure) {
                      return connectFabric(membership, store, options, failure);
                    }));
  return std::unique_ptr<UcxEngine>(new UcxEngine(std::move(wire)));
}

} // namespace tilewright::collective::ucx
