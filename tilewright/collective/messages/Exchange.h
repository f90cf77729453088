// Exchange: collectives implemented with point-to-point messages.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_EXCHANGE_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_EXCHANGE_H

#include "tilewright/collective/messages/Messages.h"

namespace tilewright::collective::messages {

/// Creates the operation that executes the collective of `request` with messages. Takes the
/// channel's next sequence number. `keepsOrder`: sums are taken in the order of the group, also
/// among many members.
std::unique_ptr<Operation> makeExchange(Messages &messages, OrderedChannel &channel,
                                        const CollectiveRequest &request, bool keepsOrder = false);

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_EXCHANGE_H
