#include "tilewright/plugin/ffi/Registry.h"

#include "tilewright/plugin/ffi/Functions.h"
#include "tilewright/support/Concat.h"

namespace tilewright::plugin::ffi {
namespace {

/// Calls the handler with a frame that only queries its FFI version.
Status checkVersion(std::string_view name, XLA_FFI_Handler *handler) {
  XLA_FFI_Metadata metadata = {};
  metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  frame.api = &functions();
  TILEWRIGHT_TRY(takeError(handler(&frame)));
  if (metadata.api_version.major_version != XLA_FFI_API_MAJOR ||
      metadata.api_version.minor_version > XLA_FFI_API_MINOR)
    return Status(Error::handlerInvalid,
                  concat("the handler of '", name, "' was built for version ",
                         metadata.api_version.major_version, ".",
                         metadata.api_version.minor_version,
                         " of the XLA FFI; build it against the headers of the installed jaxlib, "
                         "version ",
                         XLA_FFI_API_MAJOR, ".", XLA_FFI_API_MINOR, " or older"));
  return Status();
}

bool equal(const XLA_FFI_Handler_Bundle &a, const XLA_FFI_Handler_Bundle &b) {
  return a.instantiate == b.instantiate && a.prepare == b.prepare && a.initialize == b.initialize &&
         a.execute == b.execute;
}

} // namespace

std::optional<Platform> platformNamed(std::string_view name) {
  if (name.empty() || name == "Host" || name == "HOST" || name == "cpu")
    return Platform::host;
  if (name == "CUDA" || name == "cuda" || name == "gpu")
    return Platform::cuda;
  if (name == "ROCM" || name == "rocm")
    return Platform::rocm;
  return std::nullopt;
}

Registry &Registry::global() {
  static Registry *registry = new Registry; // not destroyed: handlers may run at exit
  return *registry;
}

Status Registry::addHandlers(std::string_view name, Platform platform,
                             const XLA_FFI_Handler_Bundle &bundle) {
  if (name.empty() || !bundle.execute)
    return Status(Error::handlerInvalid,
                  concat("the handler of '", name, "' has no stage 'execute'"));
  for (XLA_FFI_Handler *stage :
       {bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute})
    if (stage)
      TILEWRIGHT_TRY(checkVersion(name, stage));
  std::lock_guard lock(mutex);
  auto [entry, isNew] =
      handlers[static_cast<size_t>(platform)].try_emplace(std::string(name), bundle);
  if (!isNew && !equal(entry->second, bundle))
    return Status(Error::handlerInvalid,
                  concat("'", name, "' is already registered with another handler"));
  return Status();
}

std::optional<XLA_FFI_Handler_Bundle> Registry::find(std::string_view name,
                                                     Platform platform) const {
  std::lock_guard lock(mutex);
  const auto &known = handlers[static_cast<size_t>(platform)];
  auto found = known.find(name);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

Status Registry::addType(std::string_view name, int64_t &id, void (*deleter)(void *)) {
  std::lock_guard lock(mutex);
  Type &type = types[std::string(name)];
  if (type.id == 0)
    type.id = id != 0 ? id : nextType++;
  if (id != 0 && id != type.id)
    return Status(
        Error::handlerInvalid,
        concat("the type '", name, "' is already registered with the id ", type.id, ", not ", id));
  if (deleter)
    type.deleter = deleter;
  id = type.id;
  return Status();
}

void Registry::destroy(int64_t id, void *object) const {
  void (*deleter)(void *) = nullptr;
  {
    std::lock_guard lock(mutex);
    for (const auto &[name, type] : types)
      if (type.id == id)
        deleter = type.deleter;
  }
  if (deleter)
    deleter(object);
}

} // namespace tilewright::plugin::ffi
