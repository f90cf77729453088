// cuTensorMap*.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"

namespace tilewright::vgpu::driver {

using machine::TensorElement;
using machine::TensorMap;
using machine::TensorSwizzle;

static bool isFloat(CUtensorMapDataType type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

namespace api {

CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                uint32_t tensorRank, void *globalAddress, const uint64_t *globalDim,
                                const uint64_t *globalStrides, const uint32_t *boxDim,
                                const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                CUtensorMapFloatOOBfill oobFill) {
  VGPU_NEED(tensorMap && reinterpret_cast<uintptr_t>(tensorMap) % 64 == 0);
  VGPU_NEED(globalAddress && globalDim && boxDim && elementStrides);
  VGPU_NEED(tensorRank >= 1 && tensorRank <= 5 && (tensorRank == 1 || globalStrides));
  VGPU_NEED(tensorDataType >= CU_TENSOR_MAP_DATA_TYPE_UINT8 &&
            tensorDataType <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
  VGPU_NEED(interleave >= CU_TENSOR_MAP_INTERLEAVE_NONE &&
            interleave <= CU_TENSOR_MAP_INTERLEAVE_32B);
  VGPU_NEED(swizzle >= CU_TENSOR_MAP_SWIZZLE_NONE &&
            swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B);
  VGPU_NEED(l2Promotion >= CU_TENSOR_MAP_L2_PROMOTION_NONE &&
            l2Promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  VGPU_NEED(oobFill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
            oobFill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
  const bool isNew =
      tensorDataType > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ || swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
  if (isNew && !std::ranges::any_of(Driver::get().devices, [](const auto &device) {
        return device->chip->architecture >= 100;
      }))
    return fail(CUDA_ERROR_NOT_SUPPORTED, "elements of 4 and 6 bits and swizzles with atoms other "
                                          "than 16 bytes require sm_100 or higher");
  if (static_cast<TensorSwizzle>(swizzle) == TensorSwizzle::atoms32Flipped)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "swizzles that flip 8 bytes are not supported");
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
    return fail(CUDA_ERROR_INVALID_VALUE, "32-byte interleaving requires a 32-byte swizzle");
  if (oobFill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA && !isFloat(tensorDataType))
    return fail(CUDA_ERROR_INVALID_VALUE, "only floating-point tensors can be filled with NaN");

  TensorMap map;
  map.address = reinterpret_cast<uint64_t>(globalAddress);
  map.rank = tensorRank;
  map.element = static_cast<TensorElement>(tensorDataType);
  map.swizzle = static_cast<TensorSwizzle>(swizzle);
  map.interleave = static_cast<uint8_t>(interleave);
  map.fillsNan = oobFill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  for (uint32_t i = 0; i < tensorRank; ++i) {
    map.size[i] = globalDim[i];
    map.box[i] = boxDim[i];
    map.step[i] = elementStrides[i];
    if (i == 0)
      continue;
    map.stride[i] = globalStrides[i - 1];
    if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && map.stride[i] % 32 != 0)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("stride ", i, " must be a multiple of 32 for 32-byte interleaving, got ",
                         map.stride[i]));
    // Rows must not overlap, unless the stride is 0.
    const machine::ElementGroup group = groupOf(map.element);
    const uint64_t least = i == 1 ? map.size[0] / group.elements * group.inGlobal : 0;
    if (map.stride[i] != 0 && map.stride[i] < least)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("stride ", i, " must be at least the row size of ", least, " bytes, got ",
                         map.stride[i]));
  }
  if (Status status = map.check(); !status.isOk())
    return fail(CUDA_ERROR_INVALID_VALUE, status.message());
  map.encode(reinterpret_cast<std::byte *>(tensorMap));
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *, CUtensorMapDataType, uint32_t, void *,
                                 const uint64_t *, const uint64_t *, const int *, const int *,
                                 uint32_t, uint32_t, const uint32_t *, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill) {
  return fail(CUDA_ERROR_NOT_SUPPORTED, "im2col tensor maps are not supported");
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress) {
  VGPU_NEED(tensorMap && reinterpret_cast<uintptr_t>(tensorMap) % 64 == 0 && globalAddress);
  auto *bytes = reinterpret_cast<std::byte *>(tensorMap);
  TensorMap map = TensorMap::decode(bytes);
  map.address = reinterpret_cast<uint64_t>(globalAddress);
  if (Status status = map.check(); !status.isOk())
    return fail(CUDA_ERROR_INVALID_VALUE, status.message());
  map.encode(bytes);
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
