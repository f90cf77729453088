// Graph nodes that programs add explicitly: converts HIP's parameters to CUDA's.
#include "tilewright/vgpu/driver/module/Module.h"

#include "tilewright/vgpu/hip/Calls.h"

namespace tilewright::vgpu::hip {

/// `func` of a node is a function of a module, or the host address of a kernel.
static CUresult nodeFunction(void *func, CUfunction &function) {
  Device *device = nullptr;
  VGPU_TRY(driver::needDevice(currentDevice(), device));
  std::shared_ptr<driver::Function> found;
  function = static_cast<CUfunction>(func);
  if (driver::needFunction(function, *device, found) == CUDA_SUCCESS)
    return CUDA_SUCCESS;
  return functionOf(func, function);
}

/// Passes the parameters of a kernel node to `body`.
template <typename Body>
static CUresult withKernel(const hipKernelNodeParams *asked, const Body &body) {
  VGPU_NEED(asked);
  CUDA_KERNEL_NODE_PARAMS_v2 parameters = {};
  VGPU_TRY(nodeFunction(asked->func, parameters.func));
  parameters.gridDimX = asked->gridDim.x;
  parameters.gridDimY = asked->gridDim.y;
  parameters.gridDimZ = asked->gridDim.z;
  parameters.blockDimX = asked->blockDim.x;
  parameters.blockDimY = asked->blockDim.y;
  parameters.blockDimZ = asked->blockDim.z;
  parameters.sharedMemBytes = asked->sharedMemBytes;
  parameters.kernelParams = asked->kernelParams;
  const std::vector<void *> extra = extraOf(asked->extra);
  parameters.extra = extra.empty() ? nullptr : const_cast<void **>(extra.data());
  return body(parameters);
}

CUresult addKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                       size_t count, const hipKernelNodeParams *asked) {
  return withKernel(asked, [&](const CUDA_KERNEL_NODE_PARAMS_v2 &parameters) {
    return api::cuGraphAddKernelNode(node, graph, dependencies, count, &parameters);
  });
}

CUresult setKernelNode(CUgraphExec exec, CUgraphNode node, const hipKernelNodeParams *asked) {
  return withKernel(asked, [&](const CUDA_KERNEL_NODE_PARAMS_v2 &parameters) {
    return api::cuGraphExecKernelNodeSetParams(exec, node, &parameters);
  });
}

static CUDA_MEMCPY3D copyOf(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = to;
  copy.srcDevice = from;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUresult addCopyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                     size_t count, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                     hipMemcpyKind kind) {
  VGPU_TRY(checkKind(kind));
  const CUDA_MEMCPY3D copy = copyOf(to, from, bytes);
  return api::cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, nullptr);
}

CUresult setCopyNode(CUgraphExec exec, CUgraphNode node, CUdeviceptr to, CUdeviceptr from,
                     size_t bytes, hipMemcpyKind kind) {
  VGPU_TRY(checkKind(kind));
  const CUDA_MEMCPY3D copy = copyOf(to, from, bytes);
  return api::cuGraphExecMemcpyNodeSetParams(exec, node, &copy, nullptr);
}

} // namespace tilewright::vgpu::hip
