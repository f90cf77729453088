// Exchange: collectives as messages.
#ifndef TILEWRIGHT_COLLECTIVE_TCP_EXCHANGE_H
#define TILEWRIGHT_COLLECTIVE_TCP_EXCHANGE_H

#include "tilewright/collective/tcp/Mesh.h"

namespace tilewright::collective::tcp {

/// The operation that does the collective of `turn` over the mesh. Takes its number in the lane.
std::unique_ptr<Operation> makeExchange(Mesh &mesh, Lane &lane, const Turn &turn);

} // namespace tilewright::collective::tcp

#endif // TILEWRIGHT_COLLECTIVE_TCP_EXCHANGE_H
