// cuDevice*: the properties of the devices.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/Functions.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

namespace tilewright::vgpu::driver {

using machine::Chip;

static std::optional<int> attributeOf(CUdevice_attribute attribute, const Device &at) {
  const Chip &chip = *at.chip;
  const Board &board = *at.board;
  const int device = at.ordinal;
  switch (attribute) {
#define TILEWRIGHT_CUDA_DEVICE_ATTRIBUTE(name, number, value)                                      \
  case CU_DEVICE_ATTRIBUTE_##name:                                                                 \
    return static_cast<int>(value);
#include "tilewright/cuda-api/DeviceAttributes.def"
#undef TILEWRIGHT_CUDA_DEVICE_ATTRIBUTE
  }
  // The other numbers in this range are texture limits. The virtual GPU has no textures, so they
  // are 0.
  constexpr int newestKnown = 147;
  return attribute > 0 && attribute <= newestKnown ? std::optional(0) : std::nullopt;
}

/// The UUID consists of "tilewrightvgpu", the chip and the ordinal, so that a device has the same
/// UUID in each run.
static CUuuid uuidOf(const Device &device) {
  CUuuid uuid{};
  std::memcpy(uuid.bytes, "tilewrightvgpu", 14);
  uuid.bytes[14] = static_cast<char>(device.chip->architecture);
  uuid.bytes[15] = static_cast<char>(device.ordinal);
  return uuid;
}

static std::string busIdOf(const Device &device) {
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", (device.ordinal + 1) & 0xff);
  return text;
}

static CUresult giveText(const std::string &text, char *to, int length) {
  VGPU_NEED(to && length > 0);
  const size_t count = std::min(text.size(), static_cast<size_t>(length) - 1);
  std::memcpy(to, text.data(), count);
  to[count] = 0;
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  VGPU_NEED(device);
  Device *found = nullptr;
  VGPU_TRY(needDevice(ordinal, found));
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  VGPU_NEED(count);
  *count = static_cast<int>(Driver::get().devices.size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice number) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  return giveText(concat(device->board->name, " (", device->chip->name, ")"), name, length);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice number) {
  VGPU_NEED(uuid);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  *uuid = uuidOf(*device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetLuid(char *, unsigned *, CUdevice number) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  return fail(CUDA_ERROR_NOT_SUPPORTED, "LUIDs are supported only on Windows");
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice number) {
  VGPU_NEED(bytes);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  *bytes = device->memoryBytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice number) {
  VGPU_NEED(value);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  const std::optional<int> found = attributeOf(attribute, *device);
  if (!found)
    return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown device attribute ", int(attribute)));
  *value = *found;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice number) {
  VGPU_NEED(properties);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  *properties = {int(Chip::threadsPerBlock),
                 {int(Chip::blockX), int(Chip::blockY), int(Chip::blockZ)},
                 {int(Chip::gridX), int(Chip::gridY), int(Chip::gridZ)},
                 int(device->chip->sharedPerBlock),
                 65536,
                 32,
                 0x7fffffff,
                 int(device->chip->registersPerBlock),
                 device->board->clockKilohertz,
                 512};
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice number) {
  VGPU_NEED(major && minor);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  *major = device->chip->architecture / 10;
  *minor = device->chip->architecture % 10;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *pciBusId) {
  VGPU_NEED(device && pciBusId);
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  // The domain and the function are optional.
  if (std::sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
    domain = 0;
    VGPU_NEED(std::sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function) >= 2);
  }
  Device *found = nullptr;
  VGPU_NEED(domain == 0 && slot == 0 && function == 0);
  VGPU_TRY(needDevice(static_cast<int>(bus) - 1, found));
  *device = found->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int length, CUdevice number) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  return giveText(busIdOf(*device), pciBusId, length);
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice number, CUdevice peerNumber) {
  VGPU_NEED(canAccessPeer);
  Device *device = nullptr, *peer = nullptr;
  VGPU_TRY(needDevice(number, device));
  VGPU_TRY(needDevice(peerNumber, peer));
  *canAccessPeer = device != peer;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice srcDevice,
                                 CUdevice dstDevice) {
  VGPU_NEED(value && srcDevice != dstDevice);
  Device *from = nullptr, *to = nullptr;
  VGPU_TRY(needDevice(srcDevice, from));
  VGPU_TRY(needDevice(dstDevice, to));
  switch (attribute) {
  case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
  case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    *value = 1;
    return CUDA_SUCCESS;
  case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
    *value = 0;
    return CUDA_SUCCESS;
  }
  return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown attribute ", int(attribute)));
}

CUresult cuDeviceGetExecAffinitySupport(int *value, CUexecAffinityType, CUdevice number) {
  VGPU_NEED(value);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  *value = 0;
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
