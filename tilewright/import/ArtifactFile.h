// ArtifactFile: the bytes of an artifact and the object that keeps them alive.
#ifndef TILEWRIGHT_IMPORT_ARTIFACTFILE_H
#define TILEWRIGHT_IMPORT_ARTIFACTFILE_H

#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// The bytes of a portable artifact. Large constants of an imported module point into them, so a
/// mapped file stays mapped until the last such module is destroyed. Copying an ArtifactFile copies
/// two pointers.
///
///   TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open("step.mlirbc", options.import));
///
/// A mapped file must not be truncated while it is in use. A caller that cannot guarantee this must
/// read the file and pass the bytes.
class ArtifactFile {
public:
  /// Maps a regular file; reads anything else (a pipe) to its end.
  ///  - artifactUnreadable: the path cannot be opened, mapped or read.
  ///  - limitBytes: more bytes than import.max-bytes.
  static Result<ArtifactFile> open(const std::string &path, const ImportOptions &options);

  /// Takes bytes from another source; messages refer to them as `name`.
  explicit ArtifactFile(std::vector<std::byte> bytes, std::string name = "artifact");
  explicit ArtifactFile(std::string_view bytes, std::string name = "artifact");

  std::span<const std::byte> bytes() const { return content; }
  const std::string &name() const { return label; }

  /// Holding this keeps bytes() valid.
  const std::shared_ptr<const void> &owner() const { return keeper; }

private:
  ArtifactFile(std::shared_ptr<const void> keeper, std::span<const std::byte> content,
               std::string label)
      : keeper(std::move(keeper)), content(content), label(std::move(label)) {}

  std::shared_ptr<const void> keeper;
  std::span<const std::byte> content;
  std::string label;
};

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_ARTIFACTFILE_H
