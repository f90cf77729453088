#include "test/fuzz/ReadTarget.h"

#include "test/fuzz/ModuleCheck.h"
#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/import/bytecode/Writer.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace tilewright::fuzz {

/// The maximum of table bytes for each input byte, given by the sparsest encodings (an entry of two
/// bytes becomes an Attr), and a constant for small inputs.
static constexpr size_t bytesEach = 64, bytesAtLeast = 4 << 20;

static void require(bool holds, const char *what, const std::string &detail = {}) {
  if (holds)
    return;
  std::fprintf(stderr, "the artifact reader broke its word: %s %s\n", what, detail.c_str());
  std::abort();
}

bool checkArtifact(std::span<const uint8_t> artifact) {
  // CPU time, so that a busy machine does not look like a slow reader.
  const std::clock_t start = std::clock();
  const ImportOptions options;
  Result<bytecode::Module> module = bytecode::read(std::as_bytes(artifact), options);
  require(std::clock() - start < CLOCKS_PER_SEC, "reading took over a second");
  if (!module.isOk()) {
    Status status = std::move(module).takeStatus();
    require(status.error().has_value(), "a failure without an id:", status.message());
    return false;
  }
  std::string broken = fuzz::brokenPromise(*module);
  require(broken.empty(), "a promise of Module does not hold:", broken);
  require(tableBytes(*module) <= bytesAtLeast + bytesEach * artifact.size(), "too much memory");

  Result<std::string> written = bytecode::write(*module);
  require(written.isOk(), "a Module cannot be written");
  Result<bytecode::Module> again = bytecode::read(std::as_bytes(std::span(*written)), options);
  if (!again.isOk())
    require(false, "what was written cannot be read:", std::move(again).takeStatus().toString());
  require(again->operations.size() == module->operations.size() &&
              again->operands == module->operands && again->valueTypes == module->valueTypes,
          "what was written reads differently");
  return true;
}

} // namespace tilewright::fuzz
