// TcpEngine: collectives between processes without shared memory, over TCP.
#ifndef TILEWRIGHT_COLLECTIVE_TCP_TCPENGINE_H
#define TILEWRIGHT_COLLECTIVE_TCP_TCPENGINE_H

#include "tilewright/collective/messages/MessageEngine.h"

namespace tilewright::collective::tcp {

/// An engine with one TCP connection for each pair of processes.
class TcpEngine final : public messages::MessageEngine {
public:
  struct Options : messages::MessageEngine::Options {
    std::string address; // as Mesh::Options
    std::chrono::nanoseconds connectTimeout = std::chrono::seconds(60);
  };
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<TcpEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);

private:
  using MessageEngine::MessageEngine;
};

} // namespace tilewright::collective::tcp

#endif // TILEWRIGHT_COLLECTIVE_TCP_TCPENGINE_H
