// Settings of the virtual cuBLASLt and cuDNN, from environment variables, and their log of calls.
#ifndef TILEWRIGHT_VGPU_LIBRARIES_SETTINGS_H
#define TILEWRIGHT_VGPU_LIBRARIES_SETTINGS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::libraries {

/// A fault on demand.
struct Fault {
  enum class Kind : uint8_t {
    create,           // the library cannot be used on this device
    nothing,          // the heuristic finds no implementation
    refuse,           // the heuristic refuses the product
    workspace,        // the implementation needs `bytes` of workspace
    launch,           // the call that queues the product fails
    device,           // the product fails while the stream executes it
    overrun,          // writes behind the result
    underrun,         // writes before the result
    workspaceOverrun, // writes behind the workspace
    wrong,            // one element of the result is wrong
    stale,            // leaves the last element of the result as it was
  };
  Kind kind = Kind::refuse;
  std::string library; // "cublasLt" or "cudnn"; empty: both
  uint64_t number = 0; // the how-manieth product, from 1; 0: every one
  uint64_t bytes = 0;
};

struct Settings {
  int cublasLtVersion = 130100, cudnnVersion = 91900;
  std::string logPath; // empty: no log
  std::vector<Fault> faults;

  /// Reports variables that it cannot parse; they count as unset.
  static const Settings &get();
};

/// Reads "cublasLt:wrong number=2; workspace bytes=4096". Returns why that is not possible, or an
/// empty text.
std::string parseFaults(std::string_view text, std::vector<Fault> &faults);

/// The fault of this kind for a library; null if there is none. `number` is the number of the
/// product in this process: a fault may be for a single product.
const Fault *faultOf(std::string_view library, Fault::Kind kind, uint64_t number = 0);

/// Appends {"process": …, "library": …, "call": …, <fields>} to the log, if there is one.
void record(std::string_view library, std::string_view call, std::string_view fields, int result);

} // namespace tilewright::vgpu::libraries

#endif // TILEWRIGHT_VGPU_LIBRARIES_SETTINGS_H
