// Exchange: collectives as messages.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_EXCHANGE_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_EXCHANGE_H

#include "tilewright/collective/messages/Messages.h"

namespace tilewright::collective::messages {

/// The operation that does the collective of `turn` by messages. Takes its number in the lane.
std::unique_ptr<Operation> makeExchange(Messages &messages, Lane &lane, const Turn &turn);

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_EXCHANGE_H
