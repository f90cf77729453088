// PJRT_Executable: a compiled program that is not loaded on a device.
#ifndef TILEWRIGHT_PLUGIN_EXECUTE_EXECUTABLE_H
#define TILEWRIGHT_PLUGIN_EXECUTE_EXECUTABLE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/options/NamedValues.h"
#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

struct PJRT_Layouts_MemoryLayout;

namespace tilewright::plugin {

/// A fingerprint in hexadecimal, by which jaxlib distinguishes programs; it does not change when a
/// program is saved and loaded. Computed on first use, because a program that was compiled in this
/// process must be serialized for it. Thread-safe.
class ProgramFingerprint {
public:
  /// Callers keep pointers to the text. All calls pass the same program.
  const std::string &of(const artifact::Executable &program);

private:
  std::once_flag once;
  std::string text;
};

} // namespace tilewright::plugin

/// Holds the data that callers keep pointers to; computed once.
struct PJRT_Executable {
  PJRT_Executable(std::shared_ptr<const tilewright::artifact::Executable> program,
                  std::string compileOptions, std::shared_ptr<const std::string> source = nullptr);

  const std::shared_ptr<const tilewright::artifact::Executable> program;
  const std::string compileOptions; // as the framework passed them
  /// The artifact that was compiled, for callers that display it. Null if the program came from a
  /// file or is large.
  const std::shared_ptr<const std::string> source;

  tilewright::plugin::ProgramFingerprint fingerprint;
  std::vector<PJRT_Buffer_Type> outputTypes;
  std::vector<int64_t> outputDims; // of all outputs
  std::vector<size_t> outputRanks;
  /// A list of strings in the form that the C API requires.
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

/// The row-major layout of a rank; has static lifetime.
PJRT_Layouts_MemoryLayout *sharedLayout(size_t rank);

/// The bytes of PJRT_Executable_Serialize: the compile options, followed by the executable file.
/// Loading the file uses these options if the caller passes none.
std::string serialize(const PJRT_Executable &executable);
/// - serializedExecutable (E8008): the bytes are damaged, or serialize() did not write them.
Result<std::unique_ptr<PJRT_Executable>> parseExecutable(std::string_view bytes);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_EXECUTE_EXECUTABLE_H
