#include "tilewright/artifact/Statistics.h"

#include <cstring>

namespace tilewright::artifact {

static Elements elementsOf(ElementType type, bool isScalar, const void *data, size_t bytes) {
  Elements elements{type, isScalar, std::vector<std::byte>(bytes)};
  if (bytes > 0)
    std::memcpy(elements.bytes.data(), data, bytes);
  return elements;
}

static const Attribute *find(const Executable &executable, std::string_view name) {
  for (const Attribute &attribute : executable.statistics)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

void addStatistic(Executable &executable, std::string name, double value) {
  executable.statistics.push_back(
      {std::move(name), elementsOf(ElementType::f64, true, &value, sizeof value)});
}

void addStatistic(Executable &executable, std::string name, std::span<const int64_t> values) {
  executable.statistics.push_back(
      {std::move(name), elementsOf(ElementType::i64, false, values.data(), values.size_bytes())});
}

std::optional<double> numberOf(const Attribute &statistic) {
  auto *elements = std::get_if<Elements>(&statistic.value);
  if (!elements || !elements->isScalar)
    return std::nullopt;
  auto read = [&](auto zero) -> std::optional<double> {
    if (elements->bytes.size() != sizeof(zero))
      return std::nullopt;
    std::memcpy(&zero, elements->bytes.data(), sizeof(zero));
    return static_cast<double>(zero);
  };
  switch (elements->type) {
  case ElementType::i64:
    return read(int64_t(0));
  case ElementType::f64:
    return read(double(0));
  case ElementType::f32:
    return read(float(0));
  default:
    return std::nullopt;
  }
}

std::optional<double> statistic(const Executable &executable, std::string_view name) {
  const Attribute *found = find(executable, name);
  return found ? numberOf(*found) : std::nullopt;
}

std::vector<int64_t> statisticList(const Executable &executable, std::string_view name) {
  const Attribute *found = find(executable, name);
  auto *elements = found ? std::get_if<Elements>(&found->value) : nullptr;
  if (!elements || elements->isScalar || elements->type != ElementType::i64)
    return {};
  std::vector<int64_t> values(elements->bytes.size() / sizeof(int64_t));
  if (!values.empty())
    std::memcpy(values.data(), elements->bytes.data(), values.size() * sizeof(int64_t));
  return values;
}

} // namespace tilewright::artifact
