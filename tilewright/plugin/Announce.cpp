#include "tilewright/plugin/Announce.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/OptionNames.h"
#include "tilewright/support/Version.h"

#include "llvm/TargetParser/Host.h"

#include <atomic>
#include <cstdio>
#include <unistd.h>

namespace tilewright::plugin {
namespace {

std::string attribute(const runtime::Device &device, std::string_view name) {
  for (const runtime::DeviceAttribute &fact : device.attributes())
    if (const auto *text = std::get_if<std::string>(&fact.value); text && fact.name == name)
      return *text;
  return "";
}

} // namespace

std::string machineOf(const PJRT_Client &client) {
  const std::span<runtime::Device *const> devices = client.runtime->devices();
  const std::string several =
      devices.size() > 1 ? concat(", ", devices.size(), " devices") : std::string();
  const std::string model = attribute(*devices.front(), "device_model");
  if (model.empty())
    return concat("the CPU (", llvm::sys::getHostCPUName().str(), several, ")");
  const std::string chip = attribute(*devices.front(), "compute_capability");
  if (chip.starts_with("gfx"))
    return concat(model,
                  model.find(chip) == model.npos ? concat(" (", chip, several, ")") : several);
  return concat(model, " (compute capability ", chip, several, ")");
}

std::string announcementOf(const PJRT_Client &client) {
  return concat("tilewright ", version(), " runs the JAX programs of this process on ",
                machineOf(client),
                "; JAX_PLATFORMS=cpu switches it off, TILEWRIGHT_QUIET=1 hides this line");
}

void announce(const PJRT_Client &client) {
  static std::atomic<bool> isSaid = false;
  if (client.isQuiet || client.runtime->processIndex() != 0 || isSaid.exchange(true))
    return;
  std::string text = announcementOf(client) + "\n";
  for (const std::string &warning : misspeltVariables(environ))
    text += concat("tilewright: ", warning, "\n");
  // A single call, so that output of other threads cannot interleave.
  std::fputs(text.c_str(), stderr);
}

} // namespace tilewright::plugin
