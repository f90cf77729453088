#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/TargetName.h"

#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace tilewright::runtime::cuda {

std::optional<ChipName> parseChip(std::string_view name) {
  if (!name.starts_with("sm_"))
    return std::nullopt;
  ChipName chip;
  const char *end = name.data() + name.size();
  auto [rest, error] = std::from_chars(name.data() + 3, end, chip.capability);
  if (error != std::errc() || chip.capability < 10)
    return std::nullopt;
  if (end - rest == 1 && (*rest == 'a' || *rest == 'f'))
    chip.suffix = *rest++;
  return rest == end ? std::optional(chip) : std::nullopt;
}

Result<DriverOptions> driverOptionsOf(std::string_view target) {
  DriverOptions options;
  const TargetName name = TargetName::of(target);
  // Code for a named chip runs on the machine's own GPU.
  if (name.machine == TargetName::Machine::gpu && (name.chip.empty() || parseChip(name.chip)))
    return options;
  if (name.machine == TargetName::Machine::virtualGpu && parseChip(name.chip)) {
    options.virtualChip = name.chip;
    return options;
  }
  return Status(Error::optionValue,
                concat("the target of a GPU is 'cuda' or its chip for the machine's, or "
                       "'vgpu:sm_80', 'vgpu:sm_90a' for the virtual one, got '",
                       target, "'"));
}

/// lib/vgpu/libcuda.so.1 of the build or installation that this code is part of.
static std::string virtualDriver() {
  namespace fs = std::filesystem;
  Dl_info self;
  if (!dladdr(reinterpret_cast<void *>(&virtualDriver), &self) || !self.dli_fname)
    return "";
  std::error_code error;
  fs::path folder = fs::canonical(self.dli_fname, error);
  if (error) // the program itself may have been called by a name that leads nowhere by now
    folder = fs::read_symlink("/proc/self/exe", error);
  // Tests are some folders deeper than programs.
  for (int level = 0; level < 6 && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    fs::path library = folder / "lib" / "vgpu" / "libcuda.so.1";
    if (fs::exists(library, error))
      return library.string();
  }
  return "";
}

Result<std::shared_ptr<const DriverApi>> findDriver(const DriverOptions &options) {
  std::string library = options.library;
  if (library.empty())
    if (const char *named = std::getenv("TILEWRIGHT_CUDA_LIBRARY"))
      library = named;
  if (!options.virtualChip.empty()) {
    // Read once, when the library is started. Left alone if it is right: others may read it now.
    const char *before = std::getenv("TILEWRIGHT_VGPU_CHIP");
    if (!before || options.virtualChip != before)
      setenv("TILEWRIGHT_VGPU_CHIP", options.virtualChip.c_str(), 1);
    if (library.empty())
      library = virtualDriver();
    if (library.empty())
      return Status(Error::cudaLibrary,
                    "the virtual GPU is asked for, and its driver lib/vgpu/libcuda.so.1 is not "
                    "beside this program; build it (ninja TilewrightVgpuCuda) or name it in "
                    "TILEWRIGHT_CUDA_LIBRARY");
  }
  return DriverApi::load(library);
}

Status checkVirtualChip(const DriverOptions &options,
                        std::span<const std::shared_ptr<CudaDevice>> devices) {
  std::string_view first(options.virtualChip);
  first = first.substr(0, first.find(','));
  const std::optional<ChipName> chip = parseChip(first);
  if (!chip || devices.front()->ordinal() != 0 || chip->capability == devices.front()->capability())
    return Status();
  return Status(Error::cudaDevices,
                concat("the virtual GPU is asked for with the chip ", options.virtualChip,
                       ", and this process started it with sm_", devices.front()->capability(),
                       "; a process has one: start another"));
}

} // namespace tilewright::runtime::cuda
