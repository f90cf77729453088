// Devices: their properties and attributes, access to peers.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/hip/Calls.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tilewright::vgpu::hip {

using chips::AmdChip;

static std::string nameOf(const Device &device) {
  return concat("Tilewright virtual ", device.amd->product, " (", device.amd->name, ")");
}

static void put(char *to, size_t size, const std::string &text) {
  const size_t count = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), count);
  to[count] = 0;
}

CUresult getDeviceName(char *name, int length, int number) {
  VGPU_NEED(name && length > 0);
  Device *device = nullptr;
  VGPU_TRY(driver::needDevice(number, device));
  put(name, static_cast<size_t>(length), nameOf(*device));
  return CUDA_SUCCESS;
}

CUresult getProperties(hipDeviceProp_t *to, int number) {
  VGPU_NEED(to);
  Device *device = nullptr;
  VGPU_TRY(driver::needDevice(number, device));
  const AmdChip &chip = *device->amd;
  constexpr int registers = AmdChip::registersPerSimd * AmdChip::simdsPerUnit * AmdChip::waveSize;
  *to = {};
  put(to->name, sizeof to->name, nameOf(*device));
  put(to->gcnArchName, sizeof to->gcnArchName, concat(chip.name, ":sramecc+:xnack-"));
  std::memcpy(to->uuid, "tilewright hip", 14);
  to->uuid[15] = static_cast<char>(number);
  to->totalGlobalMem = device->memoryBytes;
  to->sharedMemPerBlock = to->sharedMemPerMultiprocessor = to->sharedMemPerBlockOptin =
      to->maxSharedMemoryPerMultiProcessor = chip.ldsPerUnit;
  to->regsPerBlock = to->regsPerMultiprocessor = registers;
  to->warpSize = AmdChip::waveSize;
  to->memPitch = 0x7fffffff;
  to->maxThreadsPerBlock = AmdChip::threadsPerBlock;
  std::ranges::fill(to->maxThreadsDim, int(AmdChip::threadsPerBlock));
  to->maxGridSize[0] = AmdChip::gridX;
  to->maxGridSize[1] = AmdChip::gridY;
  to->maxGridSize[2] = AmdChip::gridZ;
  to->clockRate = chip.clockMegahertz * 1000;
  to->memoryClockRate = chip.memoryClockMegahertz * 1000;
  to->memoryBusWidth = chip.memoryBusBits;
  to->l2CacheSize = static_cast<int>(chip.l2Bytes);
  to->totalConstMem = 0x7fffffff;
  to->major = 9; // of gfx942: major 9, minor 4
  to->minor = chip.name[4] - '0';
  to->textureAlignment = to->texturePitchAlignment = to->surfaceAlignment = 256;
  to->multiProcessorCount = static_cast<int>(chip.computeUnits);
  to->maxThreadsPerMultiProcessor = static_cast<int>(chip.wavesPerUnit * AmdChip::waveSize);
  to->maxBlocksPerMultiProcessor = static_cast<int>(chip.wavesPerUnit);
  to->pciBusID = number + 1;
  to->canMapHostMemory = to->concurrentKernels = to->ECCEnabled = to->asyncEngineCount =
      to->unifiedAddressing = to->streamPrioritiesSupported = to->managedMemory =
          to->concurrentManagedAccess = to->canUseHostPointerForRegisteredMem =
              to->directManagedMemAccessFromHost = to->hostRegisterSupported =
                  to->memoryPoolsSupported = to->deviceOverlap = to->isLargeBar = 1;
  constexpr unsigned allFeatures = (1u << 17) - 1;
  to->arch = allFeatures;
  return CUDA_SUCCESS;
}

CUresult getDeviceAttribute(int *value, int attribute, int number) {
  VGPU_NEED(value);
  hipDeviceProp_t all;
  VGPU_TRY(getProperties(&all, number));
  struct Row {
    int number;
    int64_t value;
  };
  // The numbers of hipDeviceAttribute_t.
  const Row rows[] = {
      {0, all.ECCEnabled},
      {2, all.asyncEngineCount},
      {3, all.canMapHostMemory},
      {4, all.canUseHostPointerForRegisteredMem},
      {5, all.clockRate},
      {6, all.computeMode},
      {8, all.concurrentKernels},
      {9, all.concurrentManagedAccess},
      {10, all.cooperativeLaunch},
      {12, all.deviceOverlap},
      {13, all.directManagedMemAccessFromHost},
      {15, all.hostNativeAtomicSupported},
      {16, all.integrated},
      {18, all.kernelExecTimeoutEnabled},
      {19, all.l2CacheSize},
      {23, all.major},
      {24, all.managedMemory},
      {25, all.maxBlocksPerMultiProcessor},
      {26, all.maxThreadsDim[0]},
      {27, all.maxThreadsDim[1]},
      {28, all.maxThreadsDim[2]},
      {29, all.maxGridSize[0]},
      {30, all.maxGridSize[1]},
      {31, all.maxGridSize[2]},
      {56, all.maxThreadsPerBlock},
      {57, all.maxThreadsPerMultiProcessor},
      {58, int64_t(all.memPitch)},
      {59, all.memoryBusWidth},
      {60, all.memoryClockRate},
      {61, all.minor},
      {63, all.multiProcessorCount},
      {65, all.pageableMemoryAccess},
      {67, all.pciBusID},
      {68, all.pciDeviceID},
      {69, all.pciDomainID},
      {71, all.regsPerBlock},
      {72, all.regsPerMultiprocessor},
      {74, int64_t(all.sharedMemPerBlock)},
      {75, int64_t(all.sharedMemPerBlockOptin)},
      {76, int64_t(all.sharedMemPerMultiprocessor)},
      {78, all.streamPrioritiesSupported},
      {83, int64_t(all.totalConstMem)},
      {85, all.unifiedAddressing},
      {87, all.warpSize},
      {88, all.memoryPoolsSupported},
      {90, all.hostRegisterSupported},
      {10002, int64_t(all.maxSharedMemoryPerMultiProcessor)},
      {10011, all.isLargeBar},
      {10012, all.asicRevision},
      {10015, all.multiProcessorCount},
  };
  for (const Row &row : rows)
    if (row.number == attribute) {
      *value = static_cast<int>(std::min<int64_t>(row.value, 0x7fffffff));
      return CUDA_SUCCESS;
    }
  return fail(CUDA_ERROR_INVALID_VALUE,
              concat("device attribute ", attribute, " is not known on the virtual GPU"));
}

/// The primary context of another device, for calls about peers.
static CUresult contextOf(int number, CUcontext &context) {
  const int here = currentDevice();
  VGPU_TRY(setDevice(number));
  const CUresult result = api::cuCtxGetCurrent(&context);
  VGPU_TRY(setDevice(here));
  return result;
}

CUresult enablePeer(int peer, unsigned flags) {
  CUcontext context = nullptr;
  VGPU_TRY(contextOf(peer, context));
  return api::cuCtxEnablePeerAccess(context, flags);
}

CUresult disablePeer(int peer) {
  CUcontext context = nullptr;
  VGPU_TRY(contextOf(peer, context));
  return api::cuCtxDisablePeerAccess(context);
}

} // namespace tilewright::vgpu::hip
