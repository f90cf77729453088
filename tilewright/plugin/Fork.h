// A process forked from one with a client has a copy of the client, but none of its threads.
#ifndef TILEWRIGHT_PLUGIN_FORK_H
#define TILEWRIGHT_PLUGIN_FORK_H

#include "tilewright/support/Status.h"

namespace tilewright::plugin {

/// Makes checkNotForked() fail in processes that are forked from now on. Called when a client is
/// created.
void noticeForks();

/// Whether this process was forked after noticeForks(). It must not wait for threads, not even to
/// destroy a client.
bool isForked();

/// Functions that may wait for the client's threads call it first, because the wait would never
/// end.
///  - failedPrecondition: this process was forked.
Status checkNotForked();

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_FORK_H
