// Implementations of the API functions that do more than pass on their arguments. Functions.def
// names the API function of each.
#ifndef TILEWRIGHT_VGPU_HIP_CALLS_H
#define TILEWRIGHT_VGPU_HIP_CALLS_H

#include "tilewright/vgpu/hip/Runtime.h"

#include <vector>

namespace tilewright::vgpu::hip {

// Device.cpp
CUresult getProperties(hipDeviceProp_t *properties, int device);
CUresult getDeviceAttribute(int *value, int attribute, int device);
CUresult getDeviceName(char *name, int length, int device);
CUresult enablePeer(int peer, unsigned flags);
CUresult disablePeer(int peer);

// Memory.cpp
CUresult allocate(void **pointer, size_t bytes);
CUresult allocateManaged(void **pointer, size_t bytes, unsigned flags);
CUresult allocateHost(void **pointer, size_t bytes, unsigned flags);
CUresult freeDevice(void *pointer);
CUresult freeHost(void *pointer);
CUresult getPointerAttributes(hipPointerAttribute_t *attributes, const void *pointer);
/// Copies rows; a null `stream` makes the call wait.
CUresult copy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                size_t height, hipMemcpyKind kind, const CUstream *stream);
CUresult checkKind(hipMemcpyKind kind);

// Module.cpp
CUresult loadFile(CUmodule *module, const char *path);
CUresult loadData(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                  void **values);
/// Converts HIP's list of extra arguments to CUDA's; empty if `extra` is null.
std::vector<void *> extraOf(void **extra);
CUresult launch(const CUlaunchConfig &config, CUfunction function, void **values, void **extra);
CUresult launchCooperative(CUlaunchConfig config, CUfunction function, void **values);
/// A launch whose grid is in work-items, with events around it.
CUresult launchExt(dim3 workItems, dim3 block, size_t lds, CUstream stream, CUfunction function,
                   void **values, void **extra, CUevent start, CUevent stop);
CUresult getFunctionAttribute(int *value, int attribute, CUfunction function);
CUresult getFunctionAttributes(hipFuncAttributes *attributes, CUfunction function);
CUresult setFunctionAttribute(CUfunction function, int attribute, int value);
CUresult activeBlocks(int *blocks, CUfunction function, int blockSize, size_t dynamicLds);
CUresult bestBlockSize(int *gridSize, int *blockSize, CUfunction function, size_t dynamicLds,
                       int limit);

// Graph.cpp
CUresult addKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                       size_t count, const hipKernelNodeParams *asked);
CUresult setKernelNode(CUgraphExec exec, CUgraphNode node, const hipKernelNodeParams *asked);
CUresult addCopyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                     size_t count, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                     hipMemcpyKind kind);
CUresult setCopyNode(CUgraphExec exec, CUgraphNode node, CUdeviceptr to, CUdeviceptr from,
                     size_t bytes, hipMemcpyKind kind);

// Registered.cpp: kernels and variables of a program that clang compiled, by their host address.
CUresult functionOf(const void *kernel, CUfunction &function);
CUresult addressOf(const void *variable, CUdeviceptr &address, size_t &bytes);

/// Passes the function of the kernel with this host address to `body`.
template <typename Body> CUresult withFunction(const void *kernel, Body body) {
  CUfunction function = nullptr;
  VGPU_TRY(functionOf(kernel, function));
  return body(function);
}
/// Passes the device address of `bytes` bytes of a variable, from `offset` on, to `body`.
template <typename Body>
CUresult withVariable(const void *variable, size_t offset, size_t bytes, Body body) {
  CUdeviceptr address = 0;
  size_t size = 0;
  VGPU_TRY(addressOf(variable, address, size));
  VGPU_NEED(offset <= size && bytes <= size - offset);
  return body(address + offset);
}

// Exports.cpp
CUresult getProcAddress(const char *symbol, void **function, int *status);

} // namespace tilewright::vgpu::hip

#endif // TILEWRIGHT_VGPU_HIP_CALLS_H
