"""AMD's library under the names of CUDA's driver, so that the rest of the package needs only one set of names."""

import ctypes
import os

FILE = "libamdhip64.so.7"

_NAMES = {
    "cuMemAlloc_v2": "hipMalloc",
    "cuMemFree_v2": "hipFree",
    "cuMemHostAlloc": "hipHostMalloc",
    "cuMemFreeHost": "hipHostFree",
    "cuMemGetInfo_v2": "hipMemGetInfo",
    "cuDeviceTotalMem_v2": "hipDeviceTotalMem",
    "cuDeviceGetName": "hipDeviceGetName",
    "cuDeviceGetCount": "hipGetDeviceCount",
    "cuCtxSynchronize": "hipDeviceSynchronize",
    "cuCtxGetStreamPriorityRange": "hipDeviceGetStreamPriorityRange",
    "cuStreamDestroy_v2": "hipStreamDestroy",
    "cuStreamBeginCapture_v2": "hipStreamBeginCapture",
    "cuEventCreate": "hipEventCreateWithFlags",
    "cuEventDestroy_v2": "hipEventDestroy",
}
# Numbers of CUdevice_attribute to those of hipDeviceAttribute_t.
_ATTRIBUTES = {10: 87, 12: 71, 16: 63, 38: 19, 39: 57, 75: 23, 76: 61, 81: 76, 82: 72, 8: 74, 97: 75}


def is_chosen():
    """Whether the chip of this run is AMD's."""
    return os.environ.get("TILEWRIGHT_VGPU_CHIP", "").startswith("gfx")


class Library:
    """A function that is not written here has the same name and parameters but for the prefix."""

    def __init__(self, mode=ctypes.DEFAULT_MODE):
        self._library = ctypes.CDLL(FILE, mode=mode)
        self._library.hipGetErrorString.restype = ctypes.c_char_p

    def __getattr__(self, name):
        function = getattr(self._library, name if name.startswith("tilewright") else _NAMES.get(name, "hip" + name[2:]))
        setattr(self, name, function)
        return function

    def cuDeviceGetAttribute(self, value, attribute, device):
        return self._library.hipDeviceGetAttribute(value, _ATTRIBUTES[attribute], device)

    def cuGetErrorString(self, result, text):
        text._obj.value = self._library.hipGetErrorString(result)
        return 0

    # HIP has no contexts: that of a device is its number, from 1 because 0 is none.

    def cuDevicePrimaryCtxRetain(self, context, device):
        context._obj.value = device + 1
        return 0

    def cuCtxSetCurrent(self, context):
        return self._library.hipSetDevice(context.value - 1)
