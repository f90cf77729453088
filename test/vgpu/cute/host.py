"""The parts common to the programs of this folder: they compile kernels of the CuTe DSL and start them on the virtual GPU.

A program is called with the library made of Runtime.cpp as its first argument.
"""

import ctypes
import os
import pathlib
import sys
import sysconfig
import types
import warnings

RUNTIME = sys.argv[1]
warnings.filterwarnings("ignore")
os.environ.update(CUTE_DSL_ARCH="sm_100a", CUTE_DSL_NO_CACHE="1", CUTE_DSL_LIBS=RUNTIME)

import cuda.bindings.driver as cuda  # noqa: E402
import cuda.bindings.runtime as cudart  # noqa: E402
import cutlass.cute as cute  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from cutlass.cute.runtime import make_ptr  # noqa: E402

cudart.cudaGetDeviceCount = lambda: (cudart.cudaError_t.cudaSuccess, 1)
STREAM = cuda.CUstream(0)
F4 = ml_dtypes.float4_e2m1fn


def without_init(*packages):
    """Lets modules of these packages load without the packages themselves, which import torch."""
    for package in packages:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [str(pathlib.Path(sysconfig.get_path("purelib"), *package.split(".")))]


def needed(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) > 1 else None


def start():
    needed(cuda.cuInit(0))
    needed(cuda.cuCtxSetCurrent(needed(cuda.cuDevicePrimaryCtxRetain(needed(cuda.cuDeviceGet(0))))))


def on_device(array, element):
    """A pointer to a copy, and its address. Elements of 4 bits are packed, the first in the lower half of its byte."""
    if array.dtype == F4:
        bits = array.view(np.uint8)
        array = bits[..., 0::2] | bits[..., 1::2] << 4
    array = np.ascontiguousarray(array)
    address = int(needed(cuda.cuMemAlloc(array.nbytes)))
    needed(cuda.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))
    return make_ptr(element, address, cute.AddressSpace.gmem, assumed_align=32), address


def read_back(array, address):
    needed(cuda.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))


def execute(function, constant, arguments, blocks):
    """Compiles for the kernel's PTX and for its host code, and calls the latter. Products span `blocks` blocks."""
    text = cute.compile(function, *constant, options="--keep-ptx").artifacts.PTX
    text = (text if isinstance(text, bytes) else text.encode()).rstrip(b"\0")
    assert b"tcgen05.mma" in text and (b"cta_group::2" in text) == (blocks == "2")
    ctypes.CDLL(RUNTIME).useText(text)
    cute.compile(function, *constant)(*arguments)
    needed(cuda.cuCtxSynchronize())
