#include "tilewright/plugin/KeyValueStore.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <climits>

namespace tilewright::plugin {
namespace {

/// Callbacks create their errors with this function, so that we can read and free them.
PJRT_CallbackError makeError = [](PJRT_Error_Code code, const char *message, size_t size) {
  return toError(toStatus(code, message, size));
};

/// Converts the error that a callback returned to a Status and frees it.
Status takeError(PJRT_Error *error) {
  if (!error)
    return Status();
  PJRT_Error_GetCode_Args code{};
  code.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE;
  code.error = error;
  (void)Error_GetCode(&code);
  PJRT_Error_Message_Args message{};
  message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  Error_Message(&message);
  Status status = toStatus(code.code, message.message, message.message_size);
  PJRT_Error_Destroy_Args destroy{};
  destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
  destroy.error = error;
  Error_Destroy(&destroy);
  return status;
}

Status failed(std::string_view what, std::string_view key, const Status &why) {
  return Status(Error::ranksNotConnected,
                concat(what, " '", key,
                       "' in the key-value store of jax.distributed failed: ", why.message(),
                       "; check whether its coordinator, process 0, is still running"));
}

/// Copies the value that a callback returned and frees it.
template <typename Args> std::string takeValue(const Args &args) {
  std::string value(args.value ? args.value : "", args.value ? args.value_size : 0);
  if (args.value_deleter_callback)
    args.value_deleter_callback(args.value);
  return value;
}

} // namespace

KeyValueStore::KeyValueStore(const PJRT_Client_Create_Args &args)
    : getCallback(args.kv_get_callback), getArgument(args.kv_get_user_arg),
      putCallback(args.kv_put_callback), putArgument(args.kv_put_user_arg),
      tryGetCallback(take(&args, &PJRT_Client_Create_Args::kv_try_get_callback)),
      tryGetArgument(take(&args, &PJRT_Client_Create_Args::kv_try_get_user_arg)) {}

Result<std::shared_ptr<KeyValueStore>> KeyValueStore::create(const PJRT_Client_Create_Args &args) {
  std::shared_ptr<KeyValueStore> store(new KeyValueStore(args));
  if (!store->getCallback || !store->putCallback || !store->tryGetCallback)
    return Status(
        Error::ranksNotConnected,
        "a client of several processes requires the callbacks kv_get, kv_put and kv_try_get, but "
        "at least one is missing; call jax.distributed.initialize first, and update jaxlib "
        "if it is older than 0.5");
  return store;
}

Status KeyValueStore::put(std::string_view key, std::string_view value) {
  PJRT_KeyValuePutCallback_Args args{};
  args.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.callback_error = &makeError;
  args.user_arg = putArgument;
  if (Status status = takeError(putCallback(&args)); !status.isOk())
    return failed("writing", key, status);
  return Status();
}

Result<std::string> KeyValueStore::get(std::string_view key, tilewright::Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  PJRT_KeyValueGetCallback_Args args{};
  args.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  // At least one millisecond: even after the deadline, a key that is already written must be found.
  args.timeout_in_ms = static_cast<int>(std::clamp<int64_t>(left.count(), 1, INT_MAX));
  args.callback_error = &makeError;
  args.user_arg = getArgument;
  Status status = takeError(getCallback(&args));
  if (status.isOk())
    return takeValue(args);
  if (status.code() == Code::deadlineExceeded)
    return Status(Code::deadlineExceeded,
                  concat("key '", key, "' was not written to the key-value store in time"));
  return failed("reading", key, status);
}

Result<std::optional<std::string>> KeyValueStore::tryGet(std::string_view key) {
  PJRT_KeyValueTryGetCallback_Args args{};
  args.struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.callback_error = &makeError;
  args.user_arg = tryGetArgument;
  Status status = takeError(tryGetCallback(&args));
  if (status.isOk())
    return std::optional(takeValue(args));
  if (status.code() == Code::notFound)
    return std::optional<std::string>();
  return failed("reading", key, status);
}

} // namespace tilewright::plugin
