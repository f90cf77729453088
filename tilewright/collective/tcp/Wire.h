// Wire: what the ranks of one process share of a TcpEngine.
#ifndef TILEWRIGHT_COLLECTIVE_TCP_WIRE_H
#define TILEWRIGHT_COLLECTIVE_TCP_WIRE_H

#include "tilewright/collective/tcp/TcpEngine.h"

namespace tilewright::collective::tcp {

class TcpEngine::Wire {
public:
  static Result<std::shared_ptr<Wire>> create(const Membership &membership, KeyValueStore &store,
                                              const TcpEngine::Options &options);
  Wire(const Membership &membership, const TcpEngine::Options &options)
      : membership(membership), options(options) {}

  const Membership membership;
  const TcpEngine::Options options;
  FailureBox failure;
  std::unique_ptr<Mesh> mesh;
  std::map<int64_t, std::unique_ptr<Driver>> drivers;
  std::unique_ptr<Helper> helper; // ends before what it helps
};

} // namespace tilewright::collective::tcp

#endif // TILEWRIGHT_COLLECTIVE_TCP_WIRE_H
