// PJRT_LoadedExecutable: a program that is loaded on its devices.
#ifndef TILEWRIGHT_PLUGIN_EXECUTE_LOADEDEXECUTABLE_H
#define TILEWRIGHT_PLUGIN_EXECUTE_LOADEDEXECUTABLE_H

#include "tilewright/plugin/Client.h"
#include "tilewright/plugin/execute/Executable.h"
#include "tilewright/plugin/options/CompileOptions.h"
#include "tilewright/runtime/LoadedExecutable.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct PJRT_LoadedExecutable {
  PJRT_LoadedExecutable(PJRT_Client &client,
                        std::shared_ptr<tilewright::runtime::LoadedExecutable> loaded,
                        std::string compileOptions)
      : client(client), loaded(std::move(loaded)), compileOptions(std::move(compileOptions)) {}

  PJRT_Client &client;
  std::shared_ptr<tilewright::runtime::LoadedExecutable> loaded;
  std::string compileOptions;
  std::shared_ptr<const std::string> source; // see PJRT_Executable
  bool isPortable = false;
  tilewright::plugin::ProgramFingerprint fingerprint;
  std::vector<PJRT_Device *> devices;
  std::vector<PJRT_LogicalDeviceIds> logicalIds;
  std::mutex mutex;
  /// The copies of a portable program that are loaded, by device; guarded by mutex.
  std::map<PJRT_Device *, std::shared_ptr<tilewright::runtime::LoadedExecutable>> copies;
};

namespace tilewright::plugin {

/// Loads a program on the devices that the options name, or on the first ones.
Result<PJRT_LoadedExecutable *> loadExecutable(PJRT_Client &client,
                                               std::shared_ptr<const artifact::Executable> program,
                                               const CompileOptions &options,
                                               std::string optionBytes);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_EXECUTE_LOADEDEXECUTABLE_H
