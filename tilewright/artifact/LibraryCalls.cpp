#include "tilewright/artifact/LibraryCalls.h"

#include "tilewright/support/Concat.h"

namespace tilewright::artifact {

LibraryCall::LibraryCall() = default;
LibraryCall::LibraryCall(const LibraryCall &) = default;
LibraryCall::LibraryCall(LibraryCall &&) noexcept = default;
LibraryCall &LibraryCall::operator=(const LibraryCall &) = default;
LibraryCall &LibraryCall::operator=(LibraryCall &&) noexcept = default;
LibraryCall::~LibraryCall() = default;
bool LibraryCall::operator==(const LibraryCall &other) const {
  return static_cast<const AnyLibraryCall &>(*this) == static_cast<const AnyLibraryCall &>(other);
}
std::strong_ordering LibraryCall::operator<=>(const LibraryCall &other) const {
  return static_cast<const AnyLibraryCall &>(*this) <=> static_cast<const AnyLibraryCall &>(other);
}

std::string_view nameOf(const LibraryCall &call) {
  return std::visit([](const auto &held) { return held.name; }, call);
}

template <numerics::LibraryEnum Enum> static std::string textOf(Enum value) {
  return std::string(numerics::nameOf(value));
}
static std::string textOf(bool value) { return concat(value); }
static std::string textOf(int64_t value) { return concat(value); }
static std::string textOf(const Integers &values) { return listed(values); }
static std::string textOf(const std::string &text) { return concat('"', text, '"'); }
static std::string textOf(const std::optional<ElementType> &type) {
  return type ? std::string(numerics::spelling(*type)) : "none";
}

std::string toString(const LibraryCall &call) {
  std::string text = concat(nameOf(call), "(");
  std::string_view separator;
  auto add = [&](const char *name, const auto &value) {
    text += concat(separator, name, " = ", textOf(value));
    separator = ", ";
  };
  std::visit([&](const auto &held) { eachField(held, add); }, call);
  return text + ")";
}

} // namespace tilewright::artifact
