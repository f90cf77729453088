// UcxEngine: collectives between processes that share no memory, over whatever UCX finds: RDMA,
// TCP.
#ifndef TILEWRIGHT_COLLECTIVE_UCX_UCXENGINE_H
#define TILEWRIGHT_COLLECTIVE_UCX_UCXENGINE_H

#include "tilewright/collective/messages/MessageEngine.h"

namespace tilewright::collective::ucx {

/// The library is loaded when the first engine connects. What it uses is its own choice and that
/// of its variables (UCX_NET_DEVICES, UCX_TLS); without UCX_TLS it does not use shared memory, for
/// which there is shm/, and over which it would notice a death late.
class UcxEngine final : public messages::MessageEngine {
public:
  struct Options : messages::MessageEngine::Options {
    std::string library = "libucp.so.0";
    std::chrono::nanoseconds connectPatience = std::chrono::seconds(60);
  };
  ///  - carrierUnavailable (E6060): there is no UCX, here or in this build.
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<UcxEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);

private:
  using MessageEngine::MessageEngine;
};

/// Whether connect() would find the library.
///  - carrierUnavailable (E6060)
Status isAvailable(const std::string &library = UcxEngine::Options().library);

/// What carries the messages, for engines that are made of several.
Result<std::unique_ptr<messages::Messages>> connectFabric(const Membership &membership,
                                                          KeyValueStore &store,
                                                          const UcxEngine::Options &options,
                                                          FailureBox &failure);

} // namespace tilewright::collective::ucx

#endif // TILEWRIGHT_COLLECTIVE_UCX_UCXENGINE_H
