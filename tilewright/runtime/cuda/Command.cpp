#include "tilewright/runtime/cuda/Command.h"

namespace tilewright::runtime::cuda {

using artifact::ElementType;
using artifact::TensorMap;

static bool isCluster(const artifact::GpuLaunch &launch) {
  return launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
}

CUlaunchAttribute clusterAttribute(const artifact::GpuLaunch &launch) {
  CUlaunchAttribute cluster = {};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  return cluster;
}

Command::Command(const artifact::GpuLaunch &launch, CUfunction function,
                 std::span<const artifact::Slice> slices, std::vector<uint64_t> values)
    : launch(&launch), function(function), buffers(slices.begin(), slices.end()),
      maps(launch.tensorMaps.size()), values(std::move(values)) {}

/// The TMA data type for an element type: floats have their own, and all other types are copied as
/// unsigned integers of the same size.
static CUtensorMapDataType dataTypeOf(ElementType element) {
  switch (element) {
  case ElementType::f16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case ElementType::bf16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case ElementType::f32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case ElementType::f64:
    return CUtensorMapDataType(8); // FLOAT64
  case ElementType::tf32:
    return CUtensorMapDataType(11); // TFLOAT32
  default:
    break;
  }
  switch (numerics::storageBytes(element)) {
  case 1:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case 2:
    return CUtensorMapDataType(1); // UINT16
  case 4:
    return CUtensorMapDataType(2); // UINT32
  default:
    return CUtensorMapDataType(4); // UINT64
  }
}

Status Command::encode(CudaDevice &device, size_t number) {
  const TensorMap &map = launch->tensorMaps[number];
  uint64_t dims[5], strides[5];
  uint32_t box[5], steps[5];
  const size_t rank = map.dims.size();
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = static_cast<uint64_t>(map.dims[i]);
    box[i] = static_cast<uint32_t>(map.box[i]);
    steps[i] = static_cast<uint32_t>(map.elementStrides[i]);
    if (i > 0)
      strides[i - 1] = static_cast<uint64_t>(map.byteStrides[i - 1]);
  }
  return TILEWRIGHT_CUDA(device, cuTensorMapEncodeTiled, &maps[number], dataTypeOf(map.element),
                         static_cast<uint32_t>(rank),
                         reinterpret_cast<void *>(pointers[map.buffer]), dims, strides, box, steps,
                         static_cast<CUtensorMapInterleave>(map.interleave),
                         static_cast<CUtensorMapSwizzle>(map.swizzle),
                         static_cast<CUtensorMapL2promotion>(map.promotion),
                         static_cast<CUtensorMapFloatOOBfill>(map.fill));
}

Result<bool> Command::update(CudaDevice &device, Addresses addresses) {
  auto addressOf = [&](const artifact::Slice &slice) {
    return addresses[slice.allocation] + static_cast<CUdeviceptr>(slice.offset);
  };
  const bool isFirst = launch ? parameters.empty() : pointers.empty();
  if (!launch) {
    std::vector<CUdeviceptr> now = {addressOf(buffers[0]), fixed ? fixed : addressOf(buffers[1])};
    const bool isChanged = now != pointers;
    pointers = std::move(now);
    return isChanged;
  }
  bool isChanged = isFirst;
  if (isFirst) {
    pointers.resize(buffers.size());
    for (CUdeviceptr &pointer : pointers)
      parameters.push_back(&pointer);
    for (CUtensorMap &map : maps)
      parameters.push_back(&map);
    for (uint64_t &value : values)
      parameters.push_back(&value);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const CUdeviceptr now = addressOf(buffers[i]);
    if (now == pointers[i] && !isFirst)
      continue;
    isChanged = true;
    pointers[i] = now;
    // Encode a tensor map again only if its buffer has a new address.
    for (size_t m = 0; m < maps.size(); ++m)
      if (launch->tensorMaps[m].buffer == i)
        if (Status status = encode(device, m); !status.isOk()) {
          pointers.clear(); // so that the next run encodes all maps again
          parameters.clear();
          return status;
        }
  }
  return isChanged;
}

Status Command::submit(CudaDevice &device, CUstream stream) {
  if (!launch)
    return isNothing() ? Status()
                       : TILEWRIGHT_CUDA(device, cuMemcpyAsync, pointers[0], pointers[1],
                                         static_cast<size_t>(buffers[0].bytes), stream);
  CUlaunchAttribute cluster = clusterAttribute(*launch);
  CUlaunchConfig config = {};
  setSizes(config, *launch);
  config.hStream = stream;
  config.attrs = &cluster;
  config.numAttrs = isCluster(*launch) ? 1 : 0;
  return TILEWRIGHT_CUDA(device, cuLaunchKernelEx, &config, function, parameters.data(), nullptr);
}

CUDA_KERNEL_NODE_PARAMS_v2 Command::nodeParameters() {
  CUDA_KERNEL_NODE_PARAMS_v2 node = {};
  node.func = function;
  setSizes(node, *launch);
  node.kernelParams = parameters.data();
  return node;
}

CUDA_MEMCPY3D Command::copyParameters() const {
  CUDA_MEMCPY3D parameters = {};
  parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  parameters.dstDevice = pointers[0];
  parameters.srcDevice = pointers[1];
  parameters.WidthInBytes = static_cast<size_t>(buffers[0].bytes);
  parameters.Height = parameters.Depth = 1;
  return parameters;
}

Status Command::addTo(CudaDevice &device, CUgraph graph, CUgraphNode before) {
  const CUgraphNode *dependencies = before ? &before : nullptr;
  const size_t count = before ? 1 : 0;
  isEnabled = true; // a new node is, whatever was disabled in an earlier graph
  if (!launch) {
    const CUDA_MEMCPY3D parameters = copyParameters();
    return TILEWRIGHT_CUDA(device, cuGraphAddMemcpyNode, &node, graph, dependencies, count,
                           &parameters, device.context());
  }
  const CUDA_KERNEL_NODE_PARAMS_v2 parameters = nodeParameters();
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuGraphAddKernelNode, &node, graph, dependencies, count,
                                 &parameters));
  if (!isCluster(*launch))
    return Status();
  const CUlaunchAttribute cluster = clusterAttribute(*launch);
  return TILEWRIGHT_CUDA(device, cuGraphKernelNodeSetAttribute, node, cluster.id, &cluster.value);
}

Status Command::renew(CudaDevice &device, CUgraphExec graph) {
  if (launch) {
    const CUDA_KERNEL_NODE_PARAMS_v2 parameters = nodeParameters();
    return TILEWRIGHT_CUDA(device, cuGraphExecKernelNodeSetParams, graph, node, &parameters);
  }
  if (isEnabled == isNothing()) {
    isEnabled = !isEnabled;
    TILEWRIGHT_TRY(
        TILEWRIGHT_CUDA(device, cuGraphNodeSetEnabled, graph, node, unsigned(isEnabled)));
    copiesLeftOut += !isEnabled;
  }
  if (!isEnabled)
    return Status();
  const CUDA_MEMCPY3D parameters = copyParameters();
  return TILEWRIGHT_CUDA(device, cuGraphExecMemcpyNodeSetParams, graph, node, &parameters,
                         device.context());
}

} // namespace tilewright::runtime::cuda
