#include "tilewright/runtime/cuda/CudaModule.h"
#include "tilewright/runtime/cuda/Command.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::runtime::cuda {

using artifact::Executable;
using artifact::GpuLaunch;
using artifact::Kernel;

/// Code for sm_90a runs only on sm_90, code for sm_100f on chips of its family, other code for
/// NVIDIA on the same or newer chips. Code for an AMD chip runs only on that chip.
static Status checkChip(const Executable &executable, const CudaDevice &device) {
  auto fail = [&](auto... why) {
    return Status(Error::cudaChip,
                  concat("'", executable.name, "' was compiled for ", executable.target.cpu,
                         ", but ", device.text(), " (", device.model(), ") is ", device.chip(),
                         why..., "; compile it for this device"));
  };
  const bool isAmd = device.api().isAmd();
  const std::optional<ChipName> chip = parseChip(executable.target.cpu);
  if (!executable.target.isGpu() || executable.target.isAmd() != isAmd || (!isAmd && !chip))
    return Status(Error::cudaChip,
                  concat("'", executable.name, "' was compiled for ", executable.target.triple, " ",
                         executable.target.cpu, ", but ", device.text(), " is a GPU, ",
                         device.chip(), "; compile it for this device"));
  if (isAmd)
    return executable.target.cpu == device.chip() ? Status() : fail();
  if (chip->capability > device.capability())
    return fail(", which is older");
  if (chip->suffix == 'a' && chip->capability != device.capability())
    return fail(", and code with the suffix 'a' runs only on its own chip");
  if (chip->suffix == 'f' && chip->capability / 10 != device.capability() / 10)
    return fail(", and code with the suffix 'f' runs only on its own family");
  return Status();
}

static constexpr std::string_view elfMagic = "\x7f"
                                             "ELF";

template <typename T> static T numberAt(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Whether everything that the headers of an ELF file or a container refer to is inside the image.
/// The driver cannot check this, because it is not given the length of an image.
static bool isWhole(std::string_view image) {
  auto isInside = [&](uint64_t offset, uint64_t size) {
    return offset <= image.size() && size <= image.size() - offset;
  };
  if (image.starts_with(elfMagic)) {
    if (image.size() < 64 || image[4] != 2)
      return false;
    const auto sections = numberAt<uint64_t>(image, 0x28),
               segments = numberAt<uint64_t>(image, 0x20);
    const uint64_t sectionBytes = numberAt<uint16_t>(image, 0x3A),
                   segmentBytes = numberAt<uint16_t>(image, 0x36);
    const uint64_t sectionCount = numberAt<uint16_t>(image, 0x3C),
                   segmentCount = numberAt<uint16_t>(image, 0x38);
    if (!isInside(sections, sectionBytes * sectionCount) ||
        !isInside(segments, segmentBytes * segmentCount) || (sectionCount && sectionBytes < 64))
      return false;
    for (uint64_t i = 0; i < sectionCount; ++i) {
      const size_t at = sections + i * sectionBytes;
      constexpr uint32_t noBits = 8;
      if (numberAt<uint32_t>(image, at + 4) != noBits &&
          !isInside(numberAt<uint64_t>(image, at + 0x18), numberAt<uint64_t>(image, at + 0x20)))
        return false;
    }
    return true;
  }
  constexpr uint32_t container = 0xBA55ED50;
  if (image.size() >= 4 && numberAt<uint32_t>(image, 0) == container)
    return image.size() >= 16 &&
           isInside(numberAt<uint16_t>(image, 6), numberAt<uint64_t>(image, 8));
  return true;
}

static std::string textOf(const std::vector<std::byte> &bytes) {
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

/// Loads the code of an AMD GPU.
Status CudaModule::loadCodeObject(const Executable &executable) {
  const std::string object = textOf(executable.objects.front());
  if (!object.starts_with(elfMagic) || !isWhole(object))
    return Status(Error::cudaCode,
                  concat("the code object of '", executable.name, "' is ",
                         object.starts_with(elfMagic) ? "truncated" : "not an ELF file",
                         "; compile the program again"));
  const CUresult result =
      device.api().cuModuleLoadDataEx(&module, object.c_str(), 0, nullptr, nullptr);
  if (result == CUDA_SUCCESS) {
    declared = hip::kernelParametersOf(object).value_or(hip::KernelParameters());
    return Status();
  }
  if (DriverApi::isFatal(result) || result == CUDA_ERROR_OUT_OF_MEMORY)
    return device.check(result, "cuModuleLoadDataEx");
  return Status(Error::cudaCode,
                concat("the driver rejects the code object (", device.api().describe(result),
                       "); update the driver, or report this with the program"));
}

Status CudaModule::loadImage(const Executable &executable) {
  if (device.api().isAmd())
    return loadCodeObject(executable);
  constexpr size_t logBytes = 8192;
  std::string log(logBytes, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(logBytes)};
  std::string why = "the PTX (";
  if (const std::string binary = textOf(executable.binary); !isWhole(binary)) {
    why = "the binary, which is truncated, and the PTX (";
  } else if (!binary.empty()) {
    const CUresult result =
        device.api().cuModuleLoadDataEx(&module, binary.c_str(), 0, nullptr, nullptr);
    if (result == CUDA_SUCCESS)
      return Status();
    if (DriverApi::isFatal(result) || result == CUDA_ERROR_OUT_OF_MEMORY)
      return device.check(result, "cuModuleLoadDataEx");
    why = concat("the binary (", device.api().describe(result), ") and the PTX (");
  }
  // There is one object if there are kernels (artifact/Check.h). The code is the bytes before the
  // terminating zero.
  const std::string text = textOf(executable.objects.front());
  const CUresult result =
      device.api().cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
  if (result == CUDA_SUCCESS)
    return Status();
  if (DriverApi::isFatal(result) || result == CUDA_ERROR_OUT_OF_MEMORY)
    return device.check(result, "cuModuleLoadDataEx");
  log.resize(std::min(log.find('\0'), log.size()));
  return Status(Error::cudaCode, concat("the driver rejects ", why, device.api().describe(result),
                                        ")", log.empty() ? "" : "\n", log,
                                        "; update the driver, or report this with the program"));
}

static uint64_t volume(const std::array<uint32_t, 3> &shape) {
  return uint64_t(shape[0]) * shape[1] * shape[2];
}

Status CudaModule::findFunction(const Kernel &kernel) {
  const GpuLaunch &launch = *kernel.gpu;
  const DeviceLimits &limits = device.limits();
  auto tooMuch = [&](auto... parts) {
    return Status(Error::cudaLimit,
                  concat("kernel '", kernel.symbol, "' ", parts..., " on ", device.text(), " (",
                         device.model(), "); compile the program for this device"));
  };
  CUfunction function = nullptr;
  const CUresult found = device.api().cuModuleGetFunction(&function, module, kernel.symbol.c_str());
  if (found == CUDA_ERROR_NOT_FOUND)
    return Status(Error::kernelMissing, concat("the code does not define kernel '", kernel.symbol,
                                               "' of the plan; compile the program again"));
  TILEWRIGHT_TRY(device.check(found, "cuModuleGetFunction"));
  functions.push_back(function);

  int threads = 0, shared = 0;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuFuncGetAttribute, &threads,
                                 CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuFuncGetAttribute, &shared,
                                 CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  if (volume(launch.block) > static_cast<uint64_t>(threads))
    return tooMuch("has blocks of ", volume(launch.block),
                   " threads, but its registers limit a block to ", threads, " threads");
  const uint64_t needed = uint64_t(launch.sharedBytes) + static_cast<uint64_t>(shared);
  if (needed > static_cast<uint64_t>(limits.sharedBytes))
    return tooMuch("needs ", needed, " bytes of shared memory, but a block can have at most ",
                   limits.sharedBytes);
  if (!launch.tensorMaps.empty() && !limits.hasTensorMaps)
    return tooMuch("has ", launch.tensorMaps.size(), " tensor maps, which are not supported");
  // Never decrease the limit: several kernels of a plan may be the same function.
  int allowed = 0;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuFuncGetAttribute, &allowed,
                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  if (launch.sharedBytes > static_cast<uint32_t>(allowed))
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuFuncSetAttribute, function,
                                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   int(launch.sharedBytes)));
  const uint64_t blocks = volume(launch.cluster);
  if (blocks == 1)
    return Status();
  if (!limits.hasClusters)
    return tooMuch("has clusters of ", blocks, " blocks, but clusters are not supported");
  constexpr uint64_t portable = 8; // supported by every chip that has clusters
  if (blocks > portable)
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuFuncSetAttribute, function,
                                   CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  CUlaunchAttribute cluster = clusterAttribute(launch);
  CUlaunchConfig config = {};
  setSizes(config, launch);
  int most = 0;
  TILEWRIGHT_TRY(
      TILEWRIGHT_CUDA(device, cuOccupancyMaxPotentialClusterSize, &most, function, &config));
  if (blocks > static_cast<uint64_t>(most))
    return tooMuch("has clusters of ", blocks, " blocks, but at most ", most, " fit");
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  TILEWRIGHT_TRY(
      TILEWRIGHT_CUDA(device, cuOccupancyMaxActiveClusters, &clusters, function, &config));
  if (clusters == 0)
    return tooMuch("has clusters of ", blocks, " blocks with ", needed,
                   " bytes of shared memory, which do not fit");
  return Status();
}

/// The sizes of the parameters that the code declares.
std::vector<size_t> CudaModule::parameterSizes(const Kernel &kernel, CUfunction function) const {
  std::vector<size_t> sizes;
  if (device.api().isAmd()) {
    if (auto found = declared.find(kernel.symbol); found != declared.end())
      sizes = found->second;
    return sizes;
  }
  size_t offset = 0, size = 0;
  while (device.api().cuFuncGetParamInfo(function, sizes.size(), &offset, &size) == CUDA_SUCCESS)
    sizes.push_back(size);
  return sizes;
}

/// Checks that the plan passes as many parameters as the code declares; otherwise the driver would
/// read beyond the end of the array of parameters.
Status CudaModule::checkParameters(const Executable &executable) {
  if (!device.api().isAmd() && !device.api().cuFuncGetParamInfo)
    return Status();
  for (const artifact::Block &block : executable.blocks)
    for (const artifact::Step &step : block.steps) {
      const auto *launch = std::get_if<artifact::LaunchStep>(&step.action);
      if (!launch)
        continue;
      const Kernel &kernel = executable.kernels[launch->kernel];
      const size_t pointers = launch->buffers.size(), maps = kernel.gpu->tensorMaps.size();
      auto fail = [&](auto... parts) {
        return Status(Error::cudaCode, concat("kernel '", kernel.symbol, "' declares ", parts...,
                                              "; compile the program again"));
      };
      const std::vector<size_t> sizes = parameterSizes(kernel, functions[launch->kernel]);
      for (size_t i = 0; i < sizes.size() && i < pointers + maps; ++i)
        if (const size_t wanted = i < pointers ? 8 : 128; sizes[i] != wanted)
          return fail(sizes[i], " bytes for parameter ", i, ", but step '", step.name, "' passes ",
                      wanted);
      if (sizes.size() != pointers + maps)
        return fail(sizes.size(), " parameters, but step '", step.name, "' passes ", pointers,
                    " buffers and ", maps, " tensor maps");
    }
  return Status();
}

Result<std::unique_ptr<CudaModule>> CudaModule::load(const Executable &executable,
                                                     CudaDevice &device) {
  std::unique_ptr<CudaModule> loaded(new CudaModule(device));
  TILEWRIGHT_TRY(checkChip(executable, device));
  if (executable.kernels.empty())
    return loaded;
  TILEWRIGHT_TRY(loaded->loadImage(executable));
  for (const Kernel &kernel : executable.kernels)
    TILEWRIGHT_TRY(loaded->findFunction(kernel));
  TILEWRIGHT_TRY(loaded->checkParameters(executable));
  return loaded;
}

CudaModule::~CudaModule() {
  if (!module)
    return;
  const ContextScope scope(device);
  device.api().cuModuleUnload(module);
}

} // namespace tilewright::runtime::cuda
