// KeyValueStore: the key-value store of jax.distributed, as our transports use it.
#ifndef TILEWRIGHT_PLUGIN_KEYVALUESTORE_H
#define TILEWRIGHT_PLUGIN_KEYVALUESTORE_H

#include "tilewright/support/store/KeyValueStore.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>

namespace tilewright::plugin {

/// Wraps PJRT's three callbacks. jaxlib keeps the objects that they refer to alive as long as the
/// client.
///  - ranksNotConnected (E6032): the job's coordination service failed; the message contains the
///    reason.
class KeyValueStore final : public tilewright::KeyValueStore {
public:
  /// Requires a caller that declares several processes: otherwise its callbacks are uninitialised.
  ///  - ranksNotConnected (E6032): a callback is missing.
  static Result<std::shared_ptr<KeyValueStore>> create(const PJRT_Client_Create_Args &args);

  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, tilewright::Deadline deadline) override;
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
