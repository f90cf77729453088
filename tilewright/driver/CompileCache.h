// CompileCache: executables of earlier compilations, in compile.cache-dir.
#ifndef TILEWRIGHT_DRIVER_COMPILECACHE_H
#define TILEWRIGHT_DRIVER_COMPILECACHE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/driver/Compile.h"
#include "tilewright/support/store/FileCache.h"

#include <optional>
#include <span>
#include <string>

namespace tilewright::driver {

/// The entry of one program in the compile cache. Compiling is a function of the program, the
/// options with the effect `code`, the target and the build of Tilewright; the entry's name is a
/// SHA-256 hash of all of them. An entry contains an executable. FileCache checks its fingerprint,
/// and then it is validated like an executable from any other source.
class CompileCache {
public:
  /// Returns nothing if the request has no cache folder, if it asks for more than an executable (a
  /// report, remarks, a log, dumps), or if this build has no build id.
  static std::optional<CompileCache> open(std::span<const std::byte> program,
                                          const CompileRequest &request,
                                          const target::Target &target);

  /// Returns the executable of an earlier compilation and sets `request.perDevice`; returns nothing
  /// if the cache has no valid entry.
  std::optional<artifact::Executable> load() const;

  /// Stores the result of a compilation. Calls `request.warn` if the folder cannot be written.
  void store(const artifact::Executable &executable) const;

private:
  CompileCache(const CompileRequest &request, std::string name)
      : request(request),
        files(request.options.compile.cacheDir, request.options.compile.cacheBytes),
        name(std::move(name)) {}

  const CompileRequest &request;
  FileCache files;
  std::string name;
};

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COMPILECACHE_H
