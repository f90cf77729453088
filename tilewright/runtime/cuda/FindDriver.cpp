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

bool isAmdChip(std::string_view name) {
  constexpr std::string_view prefix = "gfx", digits = "0123456789abcdef";
  return name.starts_with(prefix) && name.size() >= prefix.size() + 3 &&
         name.find_first_not_of(digits, prefix.size()) == name.npos;
}

Result<DriverOptions> driverOptionsOf(std::string_view target) {
  DriverOptions options;
  const TargetName name = TargetName::of(target);
  options.vendor = name.vendor;
  const bool isChip = name.isAmd() ? isAmdChip(name.chip) : parseChip(name.chip).has_value();
  // A chip name without "vgpu:" means the machine's own GPU.
  if (name.machine == TargetName::Machine::gpu && (name.chip.empty() || isChip))
    return options;
  if (name.machine == TargetName::Machine::virtualGpu && isChip) {
    options.virtualChip = name.chip;
    return options;
  }
  return Status(Error::optionValue,
                concat("a GPU target must be 'cuda', 'rocm' or a chip name for a physical GPU, or "
                       "'vgpu:' and a chip name ('vgpu:sm_90a', 'vgpu:gfx950') for the virtual "
                       "one, got '",
                       target, "'"));
}

/// The path of the library or program that contains this code: in a Python process, the plugin.
static std::filesystem::path ownFile() {
  namespace fs = std::filesystem;
  Dl_info self;
  std::error_code error;
  fs::path file;
  if (dladdr(reinterpret_cast<void *>(&ownFile), &self) && self.dli_fname)
    file = fs::canonical(self.dli_fname, error);
  if (file.empty()) // the program may have been started by a path that no longer exists
    file = fs::read_symlink("/proc/self/exe", error);
  return file;
}

/// lib/vgpu/libcuda.so.1 or libamdhip64.so.7 of the build or installation that contains this code.
static std::string virtualDriver(const char *name) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = ownFile();
  // Search several levels, because test binaries are deeper in the build folder than programs.
  for (int level = 0; level < 6 && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    fs::path library = folder / "lib" / "vgpu" / name;
    if (fs::exists(library, error))
      return library.string();
  }
  return "";
}

Result<std::shared_ptr<const DriverApi>> findDriver(const DriverOptions &options) {
  const DriverWords &words = wordsOf(options.vendor);
  std::string library = options.library;
  if (library.empty())
    if (const char *named = std::getenv(words.variable))
      library = named;
  if (!options.virtualChip.empty()) {
    // The library reads this variable once, when it is initialised. Do not set it if it already has
    // the value: other threads may be reading the environment.
    const char *before = std::getenv("TILEWRIGHT_VGPU_CHIP");
    if (!before || options.virtualChip != before)
      setenv("TILEWRIGHT_VGPU_CHIP", options.virtualChip.c_str(), 1);
    if (library.empty())
      library = virtualDriver(words.library);
    if (library.empty())
      return Status(
          Error::cudaLibrary,
          concat("cannot find the virtual GPU's driver lib/vgpu/", words.library, " beside ",
                 ownFile(),
                 "; install tilewright again (pip install "
                 "--force-reinstall tilewright; in a checkout, build the target ",
                 options.vendor == Vendor::amd ? "TilewrightVgpuHip" : "TilewrightVgpuCuda",
                 "), or name the driver in ", words.variable));
  }
  return DriverApi::load(library, options.vendor);
}

std::string findNccl(const std::string &option, const DriverApi &api) {
  const char *name = api.isAmd() ? "librccl.so.1" : "libnccl.so.2";
  if (!option.empty())
    return option;
  std::error_code error;
  const std::filesystem::path beside = std::filesystem::path(api.library()).parent_path() / name;
  return beside.has_parent_path() && std::filesystem::exists(beside, error) ? beside.string()
                                                                            : name;
}

Status checkVirtualChip(const DriverOptions &options,
                        std::span<const std::shared_ptr<CudaDevice>> devices) {
  std::string_view first(options.virtualChip);
  first = first.substr(0, first.find(','));
  // The driver does not report the suffix of NVIDIA's chips.
  const std::optional<ChipName> chip = parseChip(first);
  const CudaDevice &device = *devices.front();
  const bool isAgreed = chip ? chip->capability == device.capability() : first == device.chip();
  if (first.empty() || device.ordinal() != 0 || isAgreed)
    return Status();
  return Status(Error::cudaDevices,
                concat("cannot use the virtual GPU with the chip ", options.virtualChip,
                       ": this process already uses it with ", device.chip(),
                       "; start another process"));
}

} // namespace tilewright::runtime::cuda
