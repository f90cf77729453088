#include "tilewright/vgpu/machine/memory/Multicast.h"

#include <mutex>

namespace tilewright::vgpu::machine {

void Multicasts::add(uint64_t begin, uint64_t bytes, std::shared_ptr<MulticastMemory> memory) {
  std::unique_lock lock(mutex);
  byBegin[begin] = {bytes, std::move(memory)};
  count = byBegin.size();
}

void Multicasts::remove(uint64_t begin) {
  std::unique_lock lock(mutex);
  byBegin.erase(begin);
  count = byBegin.size();
}

std::optional<Multicasts::Place> Multicasts::find(uint64_t address) const {
  std::shared_lock lock(mutex);
  auto next = byBegin.upper_bound(address);
  if (next == byBegin.begin())
    return std::nullopt;
  const auto &[begin, range] = *std::prev(next);
  if (address - begin >= range.bytes)
    return std::nullopt;
  return Place{range.memory, address - begin};
}

std::vector<uint64_t> multicastMembers(uint64_t address, uint64_t bytes) {
  std::vector<uint64_t> members;
  if (const std::optional<Multicasts::Place> place = multicasts().find(address))
    if (!place->memory->find(place->offset, bytes, members).empty())
      members.clear();
  return members;
}

Multicasts &multicasts() {
  static auto &only = *new Multicasts(); // outlives main(), as the streams do
  return only;
}

} // namespace tilewright::vgpu::machine
