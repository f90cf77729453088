#include "tilewright/driver/CompileCache.h"

#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/support/BuildId.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/store/WholeFile.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/TargetParser/Host.h"

#include <cstring>
#include <gnu/libc-version.h>

namespace tilewright::driver {

/// Hashes each part with its length, so that moving bytes from one part to the next changes the
/// hash.
static std::string hashOf(std::initializer_list<std::string_view> parts) {
  llvm::SHA256 hash;
  for (std::string_view part : parts) {
    hash.update(concat(part.size(), ":"));
    hash.update(llvm::StringRef(part.data(), part.size()));
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// Identifies all code that affects the result: Tilewright, LLVM and MLIR (which may be separate
/// libraries), and glibc, whose functions fold constants. Empty if a library has no build id.
static std::string thisBuild() {
  std::string text = gnu_get_libc_version();
  for (const void *code : {reinterpret_cast<const void *>(&hashOf),
                           reinterpret_cast<const void *>(&llvm::sys::getHostCPUName),
                           reinterpret_cast<const void *>(&mlir::registerPassManagerCLOptions)}) {
    const std::string id = buildIdOf(code);
    if (id.empty())
      return {};
    text += concat(";", id);
  }
  return text;
}

std::optional<CompileCache> CompileCache::open(std::span<const std::byte> program,
                                               const CompileRequest &request,
                                               const target::Target &target) {
  const CompileOptions &options = request.options.compile;
  if (options.cacheDir.empty() || request.report || request.wantsRemarks ||
      !options.dumpDir.empty() || !options.remarks.empty() || !options.logPasses.empty())
    return std::nullopt;
  static const std::string build = thisBuild();
  if (build.empty())
    return std::nullopt;
  std::string mesh;
  for (const auto &[axis, size] : request.mesh)
    mesh += concat(axis.size(), ":", axis, "=", size, ";");
  std::string name = hashOf(
      {build, target.identity(), request.options.codeKey(),
       readWholeFile(request.options.communicate.cluster).value_or(""), request.name,
       concat(request.replicas), concat(request.partitions), mesh, concat(request.deviceMemory),
       request.perDevice ? "with the program of one device" : "",
       std::string_view(reinterpret_cast<const char *>(program.data()), program.size())});
  return CompileCache(request, std::move(name));
}

std::optional<artifact::Executable> CompileCache::load() const {
  trace::Span span("compile", "cache");
  std::optional<std::vector<std::byte>> entry = files.load(name);
  // An entry consists of the length of the per-device program, that program, and the executable.
  uint64_t length = 0;
  if (!entry || entry->size() < sizeof length)
    return std::nullopt;
  std::memcpy(&length, entry->data(), sizeof length);
  const auto rest = std::span(*entry).subspan(sizeof length);
  if (length > rest.size())
    return std::nullopt;
  Result<artifact::Executable> executable = artifact::readExecutable(rest.subspan(length));
  if (!executable.isOk())
    return std::nullopt;
  if (request.perDevice)
    request.perDevice->assign(reinterpret_cast<const char *>(rest.data()), length);
  return *std::move(executable);
}

void CompileCache::store(const artifact::Executable &executable) const {
  trace::Span span("compile", "cache");
  const std::string perDevice = request.perDevice ? *request.perDevice : std::string();
  const uint64_t length = perDevice.size();
  const std::vector<std::byte> bytes = artifact::writeExecutable(executable);
  std::vector<std::byte> entry(sizeof length + length + bytes.size());
  std::memcpy(entry.data(), &length, sizeof length);
  std::memcpy(entry.data() + sizeof length, perDevice.data(), length);
  std::memcpy(entry.data() + sizeof length + length, bytes.data(), bytes.size());
  if (Status status = files.store(name, entry); !status.isOk() && request.warn)
    request.warn(status);
}

} // namespace tilewright::driver
