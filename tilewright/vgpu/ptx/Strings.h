// Interned names: each text is stored once and identified by a number.
#ifndef TILEWRIGHT_VGPU_PTX_STRINGS_H
#define TILEWRIGHT_VGPU_PTX_STRINGS_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::ptx {

using StringId = uint32_t;
inline constexpr StringId noString = 0xffffffffu;

/// An append-only table. Views stay valid as long as the table exists, even when it is moved.
class Strings {
public:
  StringId intern(std::string_view text);
  /// Returns noString if the text was never interned.
  StringId find(std::string_view text) const {
    auto found = ids.find(text);
    return found == ids.end() ? noString : found->second;
  }
  std::string_view operator[](StringId id) const {
    return id == noString ? std::string_view() : texts[id];
  }
  size_t size() const { return texts.size(); }

private:
  static constexpr size_t blockBytes = 1 << 16;

  std::vector<std::unique_ptr<char[]>> blocks;
  size_t used = blockBytes;
  std::vector<std::string_view> texts;
  std::unordered_map<std::string_view, StringId> ids;
};

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_STRINGS_H
