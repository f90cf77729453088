#include "tilewright/chips/Nvidia.h"

#include <algorithm>
#include <iterator>

namespace tilewright::chips {

static std::optional<NvidiaRates> ratesOf(std::string_view chip) {
#define TILEWRIGHT_NVIDIA_RATES(name, f16, tf32, f8, s8, f4, matrixLatency, copyLatency, shared,   \
                                l2, memory, l2Bytes, cluster, movesRegisters, tensorColumns)       \
  if (chip == name)                                                                                \
    return NvidiaRates{                                                                            \
        f16,    tf32, f8,     s8,      f4,      matrixLatency,       copyLatency,                  \
        shared, l2,   memory, l2Bytes, cluster, movesRegisters != 0, tensorColumns};
#include "tilewright/chips/NvidiaRates.def"
  return std::nullopt;
}

std::span<const NvidiaChip> nvidiaChips() {
  static const std::vector<NvidiaChip> rows = {
#define TILEWRIGHT_NVIDIA_CHIP(name, architecture, specific, use, ptx, multiprocessors,            \
                               sharedPerBlock, sharedPerMultiprocessor, threadsPerMultiprocessor,  \
                               blocksPerMultiprocessor, cluster, clusterNonPortable, matrix,       \
                               matrixTypes)                                                        \
  {name,                                                                                           \
   architecture,                                                                                   \
   specific,                                                                                       \
   NvidiaChip::Use::use,                                                                           \
   ptx,                                                                                            \
   multiprocessors,                                                                                \
   sharedPerBlock,                                                                                 \
   sharedPerMultiprocessor,                                                                        \
   threadsPerMultiprocessor,                                                                       \
   blocksPerMultiprocessor,                                                                        \
   cluster,                                                                                        \
   clusterNonPortable,                                                                             \
   MatrixUnit::matrix,                                                                             \
   matrixTypes,                                                                                    \
   ratesOf(name)},
#include "tilewright/chips/NvidiaChips.def"
  };
  return rows;
}

const std::vector<NvidiaChip> &nvidiaChips(NvidiaChip::Use use) {
  auto rowsFor = [](NvidiaChip::Use wanted) {
    std::vector<NvidiaChip> rows;
    std::ranges::copy_if(nvidiaChips(), std::back_inserter(rows),
                         [&](const NvidiaChip &chip) { return chip.isFor(wanted); });
    return rows;
  };
  static const std::vector<NvidiaChip> compiled = rowsFor(NvidiaChip::Use::compile),
                                       executed = rowsFor(NvidiaChip::Use::execute);
  return use == NvidiaChip::Use::compile ? compiled : executed;
}

const NvidiaChip *findNvidiaChip(std::string_view name) {
  for (const NvidiaChip &chip : nvidiaChips())
    if (chip.name == name)
      return &chip;
  return nullptr;
}
const NvidiaChip *findNvidiaChip(std::string_view name, NvidiaChip::Use use) {
  const NvidiaChip *chip = findNvidiaChip(name);
  return chip && chip->isFor(use) ? chip : nullptr;
}

} // namespace tilewright::chips
