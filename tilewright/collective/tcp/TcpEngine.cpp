#include "tilewright/collective/tcp/TcpEngine.h"
#include "tilewright/collective/tcp/Mesh.h"

namespace tilewright::collective::tcp {

Result<std::unique_ptr<TcpEngine>>
TcpEngine::connect(const Membership &membership, KeyValueStore &store, const Options &options) {
  TILEWRIGHT_ASSIGN(
      auto wire,
      MessageEngine::connect(
          membership, options, [&](FailureBox &failure) -> Result<std::unique_ptr<Messages>> {
            TILEWRIGHT_ASSIGN(auto mesh,
                              Mesh::connect(membership, store,
                                            {options.address, options.connectTimeout}, failure));
            return std::unique_ptr<Messages>(std::move(mesh));
          }));
  return std::unique_ptr<TcpEngine>(new TcpEngine(std::move(wire)));
}

} // namespace tilewright::collective::tcp
