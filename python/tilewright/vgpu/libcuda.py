"""The functions of the virtual driver that this package calls, with failures as exceptions; also for AMD (libhip.py)."""

import ctypes
import os
import re
import threading

from . import libhip

# Values of CUresult.
OUT_OF_MEMORY, NOT_READY = 2, 600
# Values of CUdevice_attribute.
WARP_SIZE, REGISTERS_A_BLOCK, MULTIPROCESSORS, L2_BYTES, THREADS_A_MULTIPROCESSOR = 10, 12, 16, 38, 39
MAJOR, MINOR, SHARED_A_MULTIPROCESSOR, REGISTERS_A_MULTIPROCESSOR, SHARED_A_BLOCK, SHARED_OPT_IN = 75, 76, 81, 82, 8, 97

_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t
_ADDRESS = ctypes.c_uint64
_TYPES = {
    "cuMemAlloc_v2": [_POINTER, _SIZE],
    "cuMemFree_v2": [_ADDRESS],
    "cuMemHostAlloc": [_POINTER, _SIZE, ctypes.c_uint],
    "cuMemFreeHost": [_POINTER],
    "cuMemGetInfo_v2": [_POINTER, _POINTER],
    "cuDeviceTotalMem_v2": [_POINTER, ctypes.c_int],
    "cuDeviceGetAttribute": [_POINTER, ctypes.c_int, ctypes.c_int],
    "cuDeviceGetName": [ctypes.c_char_p, ctypes.c_int, ctypes.c_int],
    "cuDeviceGetCount": [_POINTER],
    "cuDevicePrimaryCtxRetain": [_POINTER, ctypes.c_int],
    "cuCtxSetCurrent": [_POINTER],
    "cuCtxSynchronize": [],
    "cuCtxGetStreamPriorityRange": [_POINTER, _POINTER],
    "cuStreamCreateWithPriority": [_POINTER, ctypes.c_uint, ctypes.c_int],
    "cuStreamDestroy_v2": [_POINTER],
    "cuStreamSynchronize": [_POINTER],
    "cuStreamQuery": [_POINTER],
    "cuStreamWaitEvent": [_POINTER, _POINTER, ctypes.c_uint],
    "cuStreamBeginCapture_v2": [_POINTER, ctypes.c_int],
    "cuStreamEndCapture": [_POINTER, _POINTER],
    "cuStreamIsCapturing": [_POINTER, _POINTER],
    "cuLaunchHostFunc": [_POINTER, _POINTER, _POINTER],
    "cuGraphInstantiateWithFlags": [_POINTER, _POINTER, ctypes.c_uint64],
    "cuGraphLaunch": [_POINTER, _POINTER],
    "cuGraphDestroy": [_POINTER],
    "cuGraphExecDestroy": [_POINTER],
    "cuEventCreate": [_POINTER, ctypes.c_uint],
    "cuEventDestroy_v2": [_POINTER],
    "cuEventRecord": [_POINTER, _POINTER],
    "cuEventSynchronize": [_POINTER],
    "cuEventQuery": [_POINTER],
    "cuEventElapsedTime": [_POINTER, _POINTER, _POINTER],
    "cuGetErrorString": [ctypes.c_int, _POINTER],
}


class CudaError(RuntimeError):
    """A driver call failed; the message begins like torch's."""

    def __init__(self, function, result):
        super().__init__(f"{'HIP' if libhip.is_chosen() else 'CUDA'} error: {_text(result)} ({function} returned {result} on the virtual GPU)")
        self.result = result


def _load(mode=ctypes.DEFAULT_MODE):
    return libhip.Library(mode) if libhip.is_chosen() else ctypes.CDLL("libcuda.so.1", mode=mode)


class _Driver:
    """Loads and initialises the library on first use. A forked child loads it anew."""

    def __init__(self):
        self.lock = threading.Lock()
        self.forget()

    def forget(self):
        self.library = None
        self.contexts = {}
        self.thread = threading.local()

    def get(self):
        if self.library is None:
            with self.lock:
                if self.library is None:
                    library = _load()
                    for name, arguments in _TYPES.items():
                        if not hasattr(libhip.Library, name) or not libhip.is_chosen():
                            getattr(library, name).argtypes = arguments
                    library.tilewright_vgpu_host_wrote.argtypes = [_ADDRESS, _SIZE, _SIZE, _SIZE]
                    library.tilewright_vgpu_host_wrote.restype = None
                    if result := library.cuInit(0):
                        raise CudaError("cuInit", result)
                    self.library = library
        return self.library


_driver = _Driver()
os.register_at_fork(after_in_child=_driver.forget)


def _text(result):
    text = ctypes.c_char_p()
    library = _driver.library or _load()
    library.cuGetErrorString(result, ctypes.byref(text))
    return (text.value or b"unknown error").decode()


def library():
    """The library, initialised."""
    return _driver.get()


def call(function, *arguments):
    """Calls a driver function with a context current on this thread."""
    use_device()
    if result := getattr(_driver.get(), function)(*arguments):
        raise CudaError(function, result)


def ask(function, kind, *arguments):
    """Returns the value that a call writes to its first argument."""
    answer = kind()
    call(function, ctypes.byref(answer), *arguments)
    return answer.value


def current_device():
    return getattr(_driver.thread, "device", 0)


def is_started():
    """Whether the program has used the device so far."""
    return _driver.library is not None


def use_device(number=None):
    """Makes the primary context of a device current on this thread; by default that of the device chosen last."""
    driver = _driver.get()
    number = current_device() if number is None else number
    if getattr(_driver.thread, "active", None) == number:
        return
    with _driver.lock:
        if number not in _driver.contexts:
            context = _POINTER()
            if result := driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), number):
                raise CudaError("cuDevicePrimaryCtxRetain", result)
            _driver.contexts[number] = context
    if result := driver.cuCtxSetCurrent(_driver.contexts[number]):
        raise CudaError("cuCtxSetCurrent", result)
    _driver.thread.device = _driver.thread.active = number


class on_device:
    """Selects another device for the calls inside the block."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        self.before = current_device()
        if self.number != self.before:
            use_device(self.number)

    def __exit__(self, *_):
        if self.number != self.before:
            use_device(self.before)


def device_count():
    count = ctypes.c_int()
    if result := _driver.get().cuDeviceGetCount(ctypes.byref(count)):
        raise CudaError("cuDeviceGetCount", result)
    return count.value


def attribute(number, device):
    return ask("cuDeviceGetAttribute", ctypes.c_int, number, device)


def name_of(device):
    text = ctypes.create_string_buffer(256)
    call("cuDeviceGetName", text, len(text), device)
    return text.value.decode()


def chip_of(device):
    """The chip, which the driver puts at the end of a device's name: sm_90a, gfx950."""
    return re.search(r"\((\w+)\)$", name_of(device)).group(1)


def loaded():
    """The library if this process has loaded it (Triton does so without torch), else None."""
    try:
        return _load(os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def report():
    """The findings of this process so far, as the JSON of `--report=FILE.json`; empty without checks."""
    library = loaded()
    if library is None or not hasattr(library, "tilewright_vgpu_report"):
        return ""
    function = library.tilewright_vgpu_report
    function.argtypes, function.restype = [ctypes.c_char_p, _SIZE], _SIZE
    size = 1 << 16
    while True:
        buffer = ctypes.create_string_buffer(size)
        needed = function(buffer, size)
        if needed < size:
            return buffer.raw[:needed].decode(errors="replace")
        size = needed + 1
