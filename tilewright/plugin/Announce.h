// Announces Tilewright on standard error, because installing the package changes the backend of a
// JAX program without any change to the user's script.
#ifndef TILEWRIGHT_PLUGIN_ANNOUNCE_H
#define TILEWRIGHT_PLUGIN_ANNOUNCE_H

#include "tilewright/plugin/Client.h"

#include <string>

namespace tilewright::plugin {

/// The machine that the client runs on: "the CPU (znver4, 2 devices)", "Tilewright virtual H100
/// (sm_90)".
std::string machineOf(const PJRT_Client &client);

/// The line for standard error, without the newline.
std::string announcementOf(const PJRT_Client &client);

/// Prints announcementOf() and warnings about environment variables that look misspelt. Prints once
/// per process, only in process 0 of a job, and nothing if the user disabled it (TILEWRIGHT_QUIET,
/// tilewright.configure).
void announce(const PJRT_Client &client);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_ANNOUNCE_H
