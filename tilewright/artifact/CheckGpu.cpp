#include "tilewright/artifact/CheckGpu.h"

#include "tilewright/support/Concat.h"

#include <limits>

namespace tilewright::artifact {
namespace {

/// Checks the rules of cuTensorMapEncodeTiled when the executable is read, so that the driver does
/// not reject a map while the program runs.
class MapChecker {
public:
  MapChecker(const TensorMap &map, std::string_view owner, size_t number)
      : map(map), owner(owner), number(number) {}

  Status check() const {
    const size_t rank = map.dims.size();
    if (rank < 1 || rank > 5 || map.byteStrides.size() + 1 != rank || map.box.size() != rank ||
        map.elementStrides.size() != rank)
      return fail("has ", rank, " dimensions, ", map.byteStrides.size(), " strides, a box of rank ",
                  map.box.size(), " and ", map.elementStrides.size(),
                  " element strides; it must have 1 to 5 dimensions, one stride fewer than "
                  "dimensions, and one box size and one element stride per dimension");
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(map.element));
    if (bytes > 8)
      return fail("has elements of ", bytes, " bytes, expected at most 8");
    if (map.interleave != TensorMap::Interleave::none && rank < 3)
      return fail("is interleaved but has ", rank, " dimensions; interleaving needs at least 3");
    if (map.interleave == TensorMap::Interleave::bytes32 &&
        map.swizzle != TensorMap::Swizzle::bytes32)
      return fail("is interleaved by 32 bytes, which needs a swizzle of 32 bytes");
    if (map.fill == TensorMap::Fill::nan && !(bytes >= 2 && numerics::isReal(map.element)))
      return fail("fills with NaN, which ", numerics::spelling(map.element), " does not have");
    const int64_t unit = map.interleave == TensorMap::Interleave::bytes32 ? 32 : 16;
    for (size_t i = 0; i < rank; ++i) {
      TILEWRIGHT_TRY(inRange("size", i, map.dims[i], 1, int64_t(1) << 32));
      TILEWRIGHT_TRY(inRange("box size", i, map.box[i], 1, 256));
      TILEWRIGHT_TRY(inRange("element stride", i, map.elementStrides[i], 1, 8));
      if (i == 0)
        continue;
      const int64_t stride = map.byteStrides[i - 1];
      TILEWRIGHT_TRY(inRange("stride", i, stride, 0, (int64_t(1) << 40) - 1));
      if (stride % unit != 0)
        return fail("has stride ", stride, " in dimension ", i, ", expected a multiple of ", unit,
                    " bytes");
      if (i == 1 && stride != 0 && stride < map.dims[0] * bytes)
        return fail("has stride ", stride, " in dimension 1, expected at least the ",
                    map.dims[0] * bytes, " bytes of a row");
    }
    const int64_t row = map.box[0] * bytes, span = swizzleBytes();
    if (map.interleave == TensorMap::Interleave::none && row % 16 != 0)
      return fail("has a box with rows of ", row, " bytes, which must be a multiple of 16");
    if (span != 0 && row > span)
      return fail("has a box with rows of ", row, " bytes, but its swizzle allows at most ", span,
                  " bytes");
    return Status();
  }

  /// Bytes from the first element to the end of the last; saturates on overflow.
  int64_t extent() const {
    int64_t end = map.dims[0] * static_cast<int64_t>(numerics::storageBytes(map.element));
    for (size_t i = 1; i < map.dims.size(); ++i) {
      int64_t step = 0;
      if (__builtin_mul_overflow(map.dims[i] - 1, map.byteStrides[i - 1], &step) ||
          __builtin_add_overflow(end, step, &end))
        return std::numeric_limits<int64_t>::max();
    }
    return end;
  }

  template <typename... Parts> Status fail(const Parts &...parts) const {
    return Status(Error::executableStep, concat("tensor map ", number, " of ", owner, " ", parts...,
                                                "; compile the program again"));
  }

private:
  int64_t swizzleBytes() const {
    switch (map.swizzle) {
    case TensorMap::Swizzle::none:
      return 0;
    case TensorMap::Swizzle::bytes32:
      return 32;
    case TensorMap::Swizzle::bytes64:
      return 64;
    default:
      return 128;
    }
  }
  Status inRange(std::string_view what, size_t i, int64_t value, int64_t least,
                 int64_t most) const {
    if (value < least || value > most)
      return fail("has ", what, " ", value, " in dimension ", i, ", expected ", least, " to ",
                  most);
    return Status();
  }

  const TensorMap &map;
  std::string_view owner;
  size_t number;
};

uint64_t volume(const std::array<uint32_t, 3> &shape) {
  return uint64_t(shape[0]) * shape[1] * shape[2];
}

} // namespace

Status checkGpuLaunch(const GpuLaunch &launch, std::string_view owner) {
  auto fail = [&](auto... parts) {
    return Status(Error::executableStep,
                  concat(owner, " ", parts..., "; compile the program again"));
  };
  constexpr uint32_t maxBlocks[3] = {0x7fffffff, 65535, 65535};
  constexpr uint32_t maxThreads[3] = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] < 1 || launch.grid[i] > maxBlocks[i])
      return fail("has a grid of ", launch.grid[i], " blocks along ", "xyz"[i], ", expected 1 to ",
                  maxBlocks[i]);
    if (launch.block[i] < 1 || launch.block[i] > maxThreads[i])
      return fail("has blocks of ", launch.block[i], " threads along ", "xyz"[i],
                  ", expected 1 to ", maxThreads[i]);
    if (launch.cluster[i] < 1 || launch.cluster[i] > maxClusterBlocks ||
        launch.grid[i] % launch.cluster[i] != 0)
      return fail("has clusters of ", launch.cluster[i], " blocks along ", "xyz"[i],
                  ", which must divide the grid of ", launch.grid[i], " and be 1 to ",
                  maxClusterBlocks);
  }
  if (volume(launch.block) > 1024)
    return fail("has blocks of ", volume(launch.block), " threads, but the limit is 1024");
  if (volume(launch.cluster) > maxClusterBlocks)
    return fail("has clusters of ", volume(launch.cluster), " blocks, but the limit is ",
                maxClusterBlocks);
  if (launch.sharedBytes > maxSharedBytes)
    return fail("needs ", launch.sharedBytes, " bytes of shared memory, but the limit is ",
                maxSharedBytes);
  for (size_t i = 0; i < launch.tensorMaps.size(); ++i)
    TILEWRIGHT_TRY(MapChecker(launch.tensorMaps[i], owner, i).check());
  return Status();
}

Status checkGpuBuffers(const GpuLaunch &launch, std::span<const Slice> buffers,
                       std::string_view owner) {
  size_t bytes = 8 * buffers.size();
  if (!launch.tensorMaps.empty()) // which stand at multiples of 64
    bytes = (bytes + 63) / 64 * 64 + 128 * launch.tensorMaps.size();
  if (bytes > maxParameterBytes)
    return Status(Error::executableStep,
                  concat(owner, " passes ", bytes, " bytes of parameters, but the limit is ",
                         maxParameterBytes, "; compile the program again"));
  for (size_t i = 0; i < launch.tensorMaps.size(); ++i) {
    const TensorMap &map = launch.tensorMaps[i];
    const MapChecker checker(map, owner, i);
    if (map.buffer >= buffers.size())
      return Status(Error::executableIndex,
                    concat("tensor map ", i, " of ", owner, " uses buffer ", map.buffer,
                           ", but the step passes ", buffers.size(),
                           " buffers; compile the program again"));
    if (checker.extent() > buffers[map.buffer].bytes)
      return checker.fail("covers ", checker.extent(), " bytes, but its buffer has ",
                          buffers[map.buffer].bytes);
  }
  return Status();
}

} // namespace tilewright::artifact
