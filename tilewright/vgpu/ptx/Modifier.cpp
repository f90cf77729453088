#include "tilewright/vgpu/ptx/Modifier.h"

#include <charconv>
#include <iterator>
#include <unordered_map>

namespace tilewright::vgpu::ptx {

namespace {

struct WordInfo {
  std::string_view spelling;
  ModifierKind kind;
  uint16_t bits;
  TypeCategory category;
  uint16_t version, architecture;
};

constexpr WordInfo words[] = {
#define PTX_TYPE(name, spelling, bits, category)                                                   \
  {spelling, ModifierKind::type, bits, TypeCategory::category, 0, 0},
#define PTX_MODIFIER(name, spelling, kind, ptx, sm)                                                \
  {spelling, ModifierKind::kind, 0, TypeCategory::untyped, ptx, sm},
#include "tilewright/vgpu/ptx/Modifiers.def"
};

const WordInfo &infoOf(Modifier modifier) {
  static constexpr WordInfo shape = {"", ModifierKind::shape, 0, TypeCategory::untyped, 0, 0};
  auto index = static_cast<size_t>(modifier);
  return index < std::size(words) ? words[index] : shape;
}

/// "m16n8k16" or "m8n8".
std::optional<Modifier> findShape(std::string_view text) {
  unsigned numbers[3] = {};
  for (unsigned i = 0; i < 3; ++i) {
    if (text.empty())
      break;
    if (text.front() != "mnk"[i])
      return std::nullopt;
    auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), numbers[i]);
    if (error != std::errc() || numbers[i] == 0)
      return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  Modifier shape = shapeModifier(numbers[0], numbers[1], numbers[2]);
  if (!text.empty() || shape == Modifier::none)
    return std::nullopt;
  return shape;
}

} // namespace

ModifierKind kindOf(Modifier modifier) { return infoOf(modifier).kind; }
unsigned versionOf(Modifier modifier) { return infoOf(modifier).version; }
unsigned architectureOf(Modifier modifier) { return infoOf(modifier).architecture; }
unsigned bitsOf(Modifier type) { return infoOf(type).bits; }
TypeCategory categoryOf(Modifier type) { return infoOf(type).category; }

std::string spellingOf(Modifier modifier) {
  if (!isShape(modifier))
    return std::string(infoOf(modifier).spelling);
  Shape shape = shapeOf(modifier);
  std::string text = "m" + std::to_string(shape.m) + "n" + std::to_string(shape.n);
  if (shape.k != 0)
    text += "k" + std::to_string(shape.k);
  return text;
}

std::optional<Modifier> findModifier(std::string_view spelling) {
  static const auto *const index = [] {
    auto *map = new std::unordered_map<std::string_view, Modifier>();
    for (size_t i = 0; i < std::size(words); ++i)
      map->emplace(words[i].spelling, static_cast<Modifier>(i));
    return map;
  }();
  if (auto found = index->find(spelling); found != index->end())
    return found->second;
  if (!spelling.empty() && spelling.front() == 'm')
    return findShape(spelling);
  return std::nullopt;
}

} // namespace tilewright::vgpu::ptx
