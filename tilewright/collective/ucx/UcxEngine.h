// UcxEngine: collectives between processes without shared memory, over the transports that UCX
// finds, such as RDMA and TCP.
#ifndef TILEWRIGHT_COLLECTIVE_UCX_UCXENGINE_H
#define TILEWRIGHT_COLLECTIVE_UCX_UCXENGINE_H

#include "tilewright/collective/messages/MessageEngine.h"

namespace tilewright::collective::ucx {

/// The first engine that connects loads the library. UCX selects its transports, subject to its
/// environment variables (UCX_NET_DEVICES, UCX_TLS). Unless UCX_TLS is set, we exclude shared
/// memory: shm/ covers it, and UCX detects the death of a peer late over shared memory.
class UcxEngine final : public messages::MessageEngine {
public:
  struct Options : messages::MessageEngine::Options {
    std::string library = "libucp.so.0";
    std::chrono::nanoseconds connectTimeout = std::chrono::seconds(60);
  };
  ///  - carrierUnavailable (E6060): UCX is not installed, or this build does not support it.
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<UcxEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);

private:
  using MessageEngine::MessageEngine;
};

/// Whether connect() can load the library.
///  - carrierUnavailable (E6060)
Status isAvailable(const std::string &library = UcxEngine::Options().library);

/// Connects the transport alone, for engines that combine several transports.
Result<std::unique_ptr<messages::Messages>> connectFabric(const Membership &membership,
                                                          KeyValueStore &store,
                                                          const UcxEngine::Options &options,
                                                          FailureBox &failure);

} // namespace tilewright::collective::ucx

#endif // TILEWRIGHT_COLLECTIVE_UCX_UCXENGINE_H
