// PJRT_Executable: a compiled program that is on no device.
#ifndef TILEWRIGHT_PLUGIN_EXECUTABLE_H
#define TILEWRIGHT_PLUGIN_EXECUTABLE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/NamedValues.h"
#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct PJRT_Layouts_MemoryLayout;

/// Holds what callers keep pointers to, computed once.
struct PJRT_Executable {
  PJRT_Executable(std::shared_ptr<const tilewright::artifact::Executable> program,
                  std::string compileOptions, std::shared_ptr<const std::string> source = nullptr);

  const std::shared_ptr<const tilewright::artifact::Executable> program;
  const std::string compileOptions; // as the framework passed them
  /// The artifact that was compiled, for whoever wants to read it; null if it came from a file or
  /// is large.
  const std::shared_ptr<const std::string> source;

  std::string fingerprint; // in hexadecimal
  std::vector<PJRT_Buffer_Type> outputTypes;
  std::vector<int64_t> outputDims; // of all outputs
  std::vector<size_t> outputRanks;
  /// A list of strings, as the C API wants it.
  struct Texts {
    void add(const std::string &text) {
      data.push_back(text.data());
      sizes.push_back(text.size());
    }
    std::vector<const char *> data;
    std::vector<size_t> sizes;
  };
  Texts parameterMemoryKinds, outputMemoryKinds;
  Texts parameterShardings, outputShardings;
  tilewright::plugin::NamedValues costs;
  std::vector<PJRT_Layouts_MemoryLayout *> parameterLayouts, outputLayouts;
};

namespace tilewright::plugin {

/// The row-major layout of a rank; lives as long as the process.
PJRT_Layouts_MemoryLayout *sharedLayout(size_t rank);

/// What PJRT_Executable_Serialize gives: the executable file, after the options it was compiled
/// with, which loading it without others needs.
std::string serialize(const PJRT_Executable &executable);
/// - serializedExecutable (E8008): not written by serialize(), or damaged.
Result<std::unique_ptr<PJRT_Executable>> parseExecutable(std::string_view bytes);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_EXECUTABLE_H
