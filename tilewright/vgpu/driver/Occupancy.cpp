// How many blocks fit on a multiprocessor: cuOccupancy*.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Launch.h"

#include <algorithm>

namespace tilewright::vgpu::driver {

using machine::Chip;

// Constants of the CUDA occupancy calculator, for compute capability 8.0 to 9.0.
static constexpr uint32_t registerGranule = 256; // per warp
static constexpr uint32_t sharedGranule = 128;   // per block
static constexpr uint32_t reservedShared = 1024; // per block, for the system

static uint32_t roundedUp(uint64_t value, uint32_t granule) {
  return static_cast<uint32_t>((value + granule - 1) / granule * granule);
}

/// The number of blocks that registers and warp slots allow.
static unsigned blocksByWarps(const Function &function, unsigned threads) {
  const Chip &chip = *function.binary->device.chip;
  const unsigned warps = (threads + 31) / 32;
  // A multiprocessor has four partitions, each with a quarter of the registers.
  const uint32_t perWarp = roundedUp(uint64_t(function.registers) * 32, registerGranule);
  const unsigned fitting = chip.registersPerMultiprocessor / 4 / perWarp * 4;
  return std::min(
      {chip.blocksPerMultiprocessor, chip.threadsPerMultiprocessor / 32 / warps, fitting / warps});
}

unsigned residentBlocks(const Function &function, unsigned threads, size_t dynamicShared) {
  const Chip &chip = *function.binary->device.chip;
  if (threads == 0 || threads > function.maxThreads ||
      function.staticShared + dynamicShared > chip.sharedPerBlockOptin)
    return 0;
  const uint32_t shared =
      roundedUp(function.staticShared + dynamicShared + reservedShared, sharedGranule);
  return std::min(blocksByWarps(function, threads), chip.sharedPerMultiprocessor / shared);
}

static CUresult needFunctionHere(CUfunction handle, std::shared_ptr<Function> &function) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  return needFunction(handle, context->device, function);
}

/// The cluster of a configuration; {1, 1, 1} if it has none.
static std::array<uint32_t, 3> clusterOf(const CUlaunchConfig &config, const Function &function) {
  std::array<uint32_t, 3> cluster = function.requiredCluster;
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      cluster = {config.attrs[i].value.clusterDim.x, config.attrs[i].value.clusterDim.y,
                 config.attrs[i].value.clusterDim.z};
  for (uint32_t &size : cluster)
    size = std::max(size, 1u);
  return cluster;
}

static unsigned threadsOf(const CUlaunchConfig &config) {
  const uint64_t threads = uint64_t(config.blockDimX) * config.blockDimY * config.blockDimZ;
  return static_cast<unsigned>(std::min<uint64_t>(threads, Chip::threadsPerBlock + 1));
}

namespace api {

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction function,
                                                     int blockSize, size_t dynamicSMemSize) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, function, blockSize,
                                                              dynamicSMemSize, 0);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction handle,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned flags) {
  VGPU_NEED(numBlocks && blockSize > 0);
  VGPU_NEED((flags & ~unsigned(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0);
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunctionHere(handle, function));
  *numBlocks = static_cast<int>(
      residentBlocks(*function, static_cast<unsigned>(blockSize), dynamicSMemSize));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction function,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, function,
                                                   blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                   blockSizeLimit, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                   CUfunction handle,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned flags) {
  VGPU_NEED(minGridSize && blockSize && blockSizeLimit >= 0);
  VGPU_NEED((flags & ~unsigned(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0);
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunctionHere(handle, function));
  const Chip &chip = *function->binary->device.chip;
  unsigned limit = function->maxThreads;
  if (blockSizeLimit)
    limit = std::min(limit, static_cast<unsigned>(blockSizeLimit));
  unsigned bestThreads = 0, bestBlocks = 0;
  // Largest blocks first, so that among equal occupancies the largest block wins.
  for (unsigned threads = roundedUp(limit, 32); threads >= 32; threads -= 32) {
    const unsigned candidate = std::min(threads, limit);
    const size_t dynamic = blockSizeToDynamicSMemSize
                               ? blockSizeToDynamicSMemSize(static_cast<int>(candidate))
                               : dynamicSMemSize;
    const unsigned blocks = residentBlocks(*function, candidate, dynamic);
    if (blocks * candidate > bestBlocks * bestThreads) {
      bestThreads = candidate;
      bestBlocks = blocks;
    }
  }
  *blockSize = static_cast<int>(bestThreads);
  *minGridSize = static_cast<int>(bestBlocks * chip.multiprocessors);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction handle,
                                                 int numBlocks, int blockSize) {
  VGPU_NEED(dynamicSmemSize && numBlocks > 0 && blockSize > 0);
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunctionHere(handle, function));
  const Chip &chip = *function->binary->device.chip;
  VGPU_NEED(static_cast<unsigned>(blockSize) <= function->maxThreads);
  if (blocksByWarps(*function, static_cast<unsigned>(blockSize)) < static_cast<unsigned>(numBlocks))
    return fail(CUDA_ERROR_INVALID_VALUE, concat(numBlocks, " blocks of ", blockSize,
                                                 " threads do not fit on a multiprocessor"));
  const uint32_t share = chip.sharedPerMultiprocessor / static_cast<uint32_t>(numBlocks) /
                         sharedGranule * sharedGranule;
  const uint32_t whole =
      std::min(share - std::min(share, reservedShared), chip.sharedPerBlockOptin);
  *dynamicSmemSize = whole - std::min(whole, function->staticShared);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction handle,
                                            const CUlaunchConfig *config) {
  VGPU_NEED(clusterSize && config);
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunctionHere(handle, function));
  const Chip &chip = *function->binary->device.chip;
  const unsigned blocks = residentBlocks(*function, threadsOf(*config), config->sharedMemBytes);
  const uint32_t most =
      function->nonPortableCluster ? chip.clusterBlocksNonPortable : chip.clusterBlocks;
  *clusterSize = static_cast<int>(blocks ? most : 0);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction handle,
                                      const CUlaunchConfig *config) {
  VGPU_NEED(numClusters && config && (config->attrs || config->numAttrs == 0));
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunctionHere(handle, function));
  const Chip &chip = *function->binary->device.chip;
  const std::array<uint32_t, 3> cluster = clusterOf(*config, *function);
  const uint64_t size = uint64_t(cluster[0]) * cluster[1] * cluster[2];
  const uint32_t most = std::max(1u, function->nonPortableCluster ? chip.clusterBlocksNonPortable
                                                                  : chip.clusterBlocks);
  if (size > most)
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                concat("a cluster of ", size, " blocks exceeds the maximum of ", most));
  const uint64_t blocks =
      uint64_t(residentBlocks(*function, threadsOf(*config), config->sharedMemBytes)) *
      chip.multiprocessors;
  *numClusters = static_cast<int>(blocks / size);
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
