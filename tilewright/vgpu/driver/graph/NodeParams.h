// Wraps the parameters of one type of graph node in a CUgraphNodeParams.
#ifndef TILEWRIGHT_VGPU_DRIVER_GRAPH_NODEPARAMS_H
#define TILEWRIGHT_VGPU_DRIVER_GRAPH_NODEPARAMS_H

#include "tilewright/cuda-api/GraphTypes.h"

namespace tilewright::vgpu::driver {

using namespace cuda_api;

/// The parameters of a node of type `type`: `value`, stored in the member `member` of the union.
template <typename T>
CUgraphNodeParams nodeParams(CUgraphNodeType type, T CUgraphNodeParams::*member, const T &value) {
  CUgraphNodeParams params{};
  params.type = type;
  params.*member = value;
  return params;
}

inline CUgraphNodeParams paramsOf(const CUDA_KERNEL_NODE_PARAMS_v2 &kernel) {
  return nodeParams(CU_GRAPH_NODE_TYPE_KERNEL, &CUgraphNodeParams::kernel, kernel);
}
inline CUgraphNodeParams paramsOf(const CUDA_KERNEL_NODE_PARAMS_v1 &old) {
  return paramsOf(CUDA_KERNEL_NODE_PARAMS_v2{
      old.func, old.gridDimX, old.gridDimY, old.gridDimZ, old.blockDimX, old.blockDimY,
      old.blockDimZ, old.sharedMemBytes, old.kernelParams, old.extra, nullptr, nullptr});
}
inline CUgraphNodeParams paramsOf(const CUDA_MEMCPY3D &copy) {
  return nodeParams(CU_GRAPH_NODE_TYPE_MEMCPY, &CUgraphNodeParams::memcpy, {0, 0, nullptr, copy});
}
inline CUgraphNodeParams paramsOf(const CUDA_MEMSET_NODE_PARAMS &fill) {
  return nodeParams(
      CU_GRAPH_NODE_TYPE_MEMSET, &CUgraphNodeParams::memset,
      {fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height, nullptr});
}
inline CUgraphNodeParams paramsOf(const CUDA_HOST_NODE_PARAMS &host) {
  return nodeParams(CU_GRAPH_NODE_TYPE_HOST, &CUgraphNodeParams::host, host);
}
inline CUgraphNodeParams paramsOf(CUgraph child) {
  return nodeParams(CU_GRAPH_NODE_TYPE_GRAPH, &CUgraphNodeParams::graph, {child, 0});
}
inline CUgraphNodeParams recordParams(CUevent event) {
  return nodeParams(CU_GRAPH_NODE_TYPE_EVENT_RECORD, &CUgraphNodeParams::eventRecord, {event});
}
inline CUgraphNodeParams waitParams(CUevent event) {
  return nodeParams(CU_GRAPH_NODE_TYPE_WAIT_EVENT, &CUgraphNodeParams::eventWait, {event});
}

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_GRAPH_NODEPARAMS_H
