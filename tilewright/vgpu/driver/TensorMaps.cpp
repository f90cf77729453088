// cuTensorMap*.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"

namespace tilewright::vgpu::driver {

using machine::TensorElement;
using machine::TensorMap;
using machine::TensorMode;
using machine::TensorSwizzle;

static bool isFloat(CUtensorMapDataType type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

namespace {
/// The arguments common to all encoding functions.
struct Encoding {
  CUtensorMap *result;
  CUtensorMapDataType element;
  uint32_t rank;
  void *address;
  const uint64_t *sizes, *strides;
  const uint32_t *steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};
} // namespace

static bool hasBlackwell() {
  return std::ranges::any_of(Driver::get().devices,
                             [](const auto &device) { return device->chip->architecture >= 100; });
}

/// Rejects arguments that are invalid for every kind of map.
static CUresult checkArguments(const Encoding &from) {
  VGPU_NEED(from.result && reinterpret_cast<uintptr_t>(from.result) % 64 == 0);
  VGPU_NEED(from.address && from.sizes && from.steps);
  VGPU_NEED(from.rank >= 1 && from.rank <= 5 && (from.rank == 1 || from.strides));
  VGPU_NEED(from.element >= CU_TENSOR_MAP_DATA_TYPE_UINT8 &&
            from.element <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
  VGPU_NEED(from.interleave >= CU_TENSOR_MAP_INTERLEAVE_NONE &&
            from.interleave <= CU_TENSOR_MAP_INTERLEAVE_32B);
  VGPU_NEED(from.swizzle >= CU_TENSOR_MAP_SWIZZLE_NONE &&
            from.swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B);
  VGPU_NEED(from.promotion >= CU_TENSOR_MAP_L2_PROMOTION_NONE &&
            from.promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  VGPU_NEED(from.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
            from.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
  const bool isNew = from.element > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ ||
                     from.swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
  if (isNew && !hasBlackwell())
    return fail(CUDA_ERROR_NOT_SUPPORTED, "elements of 4 and 6 bits and swizzles with atoms other "
                                          "than 16 bytes require sm_100 or higher");
  if (static_cast<TensorSwizzle>(from.swizzle) == TensorSwizzle::atoms32Flipped)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "swizzles that flip 8 bytes are not supported");
  if (from.interleave == CU_TENSOR_MAP_INTERLEAVE_32B && from.swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
    return fail(CUDA_ERROR_INVALID_VALUE, "32-byte interleaving requires a 32-byte swizzle");
  if (from.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA && !isFloat(from.element))
    return fail(CUDA_ERROR_INVALID_VALUE, "only floating-point tensors can be filled with NaN");
  return CUDA_SUCCESS;
}

/// Completes `map`, which has a box or corners, and encodes it.
static CUresult encode(const Encoding &from, TensorMap map) {
  map.address = reinterpret_cast<uint64_t>(from.address);
  map.rank = from.rank;
  map.element = static_cast<TensorElement>(from.element);
  map.swizzle = static_cast<TensorSwizzle>(from.swizzle);
  map.interleave = static_cast<uint8_t>(from.interleave);
  map.fillsNan = from.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  for (uint32_t i = 0; i < from.rank; ++i) {
    map.size[i] = from.sizes[i];
    map.step[i] = from.steps[i];
    if (i == 0)
      continue;
    map.stride[i] = from.strides[i - 1];
    if (from.interleave == CU_TENSOR_MAP_INTERLEAVE_32B && map.stride[i] % 32 != 0)
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
  // im2col ignores the traversal stride along the channels, unless the tensor is interleaved.
  if (map.mode != TensorMode::tile && map.interleave == 0)
    map.step[0] = 1;
  if (Status status = map.check(); !status.isOk())
    return fail(CUDA_ERROR_INVALID_VALUE, status.message());
  map.encode(reinterpret_cast<std::byte *>(from.result));
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                uint32_t tensorRank, void *globalAddress, const uint64_t *globalDim,
                                const uint64_t *globalStrides, const uint32_t *boxDim,
                                const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                CUtensorMapFloatOOBfill oobFill) {
  const Encoding from{tensorMap, tensorDataType, tensorRank,     globalAddress,
                      globalDim, globalStrides,  elementStrides, interleave,
                      swizzle,   l2Promotion,    oobFill};
  VGPU_NEED(boxDim);
  if (CUresult result = checkArguments(from); result != CUDA_SUCCESS)
    return result;
  TensorMap map;
  std::copy_n(boxDim, tensorRank, map.box.begin());
  return encode(from, map);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                 uint32_t tensorRank, void *globalAddress,
                                 const uint64_t *globalDim, const uint64_t *globalStrides,
                                 const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
                                 uint32_t channelsPerPixel, uint32_t pixelsPerColumn,
                                 const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                 CUtensorMapFloatOOBfill oobFill) {
  const Encoding from{tensorMap, tensorDataType, tensorRank,     globalAddress,
                      globalDim, globalStrides,  elementStrides, interleave,
                      swizzle,   l2Promotion,    oobFill};
  VGPU_NEED(pixelBoxLowerCorner && pixelBoxUpperCorner);
  if (CUresult result = checkArguments(from); result != CUDA_SUCCESS)
    return result;
  TensorMap map;
  map.mode = TensorMode::im2col;
  map.box[0] = channelsPerPixel;
  map.pixels = pixelsPerColumn;
  if (tensorRank >= 3) { // otherwise check() refuses the map
    std::copy_n(pixelBoxLowerCorner, tensorRank - 2, map.lower.begin());
    std::copy_n(pixelBoxUpperCorner, tensorRank - 2, map.upper.begin());
  }
  return encode(from, map);
}

CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, uint32_t tensorRank,
    void *globalAddress, const uint64_t *globalDim, const uint64_t *globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, uint32_t channelsPerPixel,
    uint32_t pixelsPerColumn, const uint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
  const Encoding from{tensorMap, tensorDataType, tensorRank,     globalAddress,
                      globalDim, globalStrides,  elementStrides, interleave,
                      swizzle,   l2Promotion,    oobFill};
  VGPU_NEED(mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W ||
            mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128);
  if (CUresult result = checkArguments(from); result != CUDA_SUCCESS)
    return result;
  if (!hasBlackwell())
    return fail(CUDA_ERROR_NOT_SUPPORTED, "im2col::w requires sm_100 or higher");
  TensorMap map;
  const bool is128 = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
  map.mode = is128 ? TensorMode::im2colW128 : TensorMode::im2colW;
  map.box[0] = channelsPerPixel;
  map.pixels = is128 ? 128 : pixelsPerColumn;
  map.lower[0] = pixelBoxLowerCornerWidth;
  map.upper[0] = pixelBoxUpperCornerWidth;
  return encode(from, map);
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
