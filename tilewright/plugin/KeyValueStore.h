// KeyValueStore: where the processes of jax.distributed leave notes, as our engines use it.
#ifndef TILEWRIGHT_PLUGIN_KEYVALUESTORE_H
#define TILEWRIGHT_PLUGIN_KEYVALUESTORE_H

#include "tilewright/collective/KeyValueStore.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>

namespace tilewright::plugin {

/// PJRT's three callbacks. jaxlib keeps what they refer to as long as the client.
///  - ranksNotConnected (E6032): the service of the job cannot be asked; what it said.
class KeyValueStore final : public collective::KeyValueStore {
public:
  /// For a caller that says it is one of several processes: else its callbacks are garbage.
  ///  - ranksNotConnected (E6032): a callback is missing.
  static Result<std::shared_ptr<KeyValueStore>> create(const PJRT_Client_Create_Args &args);

  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, collective::Deadline deadline) override;
  Result<std::optional<std::string>> tryGet(std::string_view key) override;

private:
  explicit KeyValueStore(const PJRT_Client_Create_Args &args);

  const PJRT_KeyValueGetCallback getCallback;
  void *const getArgument;
  const PJRT_KeyValuePutCallback putCallback;
  void *const putArgument;
  const PJRT_KeyValueTryGetCallback tryGetCallback;
  void *const tryGetArgument;
};

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_KEYVALUESTORE_H
