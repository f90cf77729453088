#include "tilewright/vgpu/ptx/Strings.h"

#include <cstring>

namespace tilewright::vgpu::ptx {

StringId Strings::intern(std::string_view text) {
  if (auto found = ids.find(text); found != ids.end())
    return found->second;
  char *copy;
  if (text.size() > blockBytes / 4) {
    // A long text gets its own block, inserted before the block that is being filled.
    auto block = std::make_unique<char[]>(text.size());
    copy = block.get();
    blocks.insert(blocks.empty() ? blocks.end() : blocks.end() - 1, std::move(block));
  } else {
    if (blocks.empty() || used + text.size() > blockBytes) {
      blocks.push_back(std::make_unique<char[]>(blockBytes));
      used = 0;
    }
    copy = blocks.back().get() + used;
    used += text.size();
  }
  if (!text.empty())
    std::memcpy(copy, text.data(), text.size());
  std::string_view kept(copy, text.size());
  StringId id = static_cast<StringId>(texts.size());
  texts.push_back(kept);
  ids.emplace(kept, id);
  return id;
}

} // namespace tilewright::vgpu::ptx
