#include "test/fuzz/ExecutableMutator.h"

#include "tilewright/artifact/Fields.h"
#include "tilewright/artifact/Format.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/artifact/testing/SampleExecutable.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tilewright::fuzz {

using namespace artifact;

namespace {

/// Visits all fields and changes field number `target`.
class MutatorArchive {
public:
  static constexpr bool isWriter = false;
  MutatorArchive(Random &random, uint64_t target) : random(random), target(target) {}
  uint64_t seen = 0;

  template <typename T> void number(T &value) {
    if (isChosen())
      value = static_cast<T>(interesting(static_cast<int64_t>(value)));
  }
  void number(bool &value) { value ^= isChosen(); }
  template <typename T> void integer(T &value) {
    if (isChosen())
      value = static_cast<T>(interesting(value));
  }
  template <typename E> void enumeration(E &value, size_t count) {
    if (isChosen())
      value = static_cast<E>(random.below(count));
  }
  void text(std::string &value) {
    if (!isChosen())
      return;
    if (random.oneIn(2) || value.empty())
      value.append(1 + random.below(3), static_cast<char>(random.next()));
    else
      value.resize(random.below(value.size()));
  }
  void bytes(std::vector<std::byte> &value) {
    if (isChosen())
      value.resize(random.below(2 * value.size() + 3), static_cast<std::byte>(random.next()));
  }
  template <typename T> void list(std::vector<T> &items, const char *) {
    if (isChosen())
      change(items);
    // Visit only a few elements of a long list, so that small fields elsewhere are reached as well.
    for (T &item : items)
      fields(*this, item);
  }
  template <typename... Ts> void alternative(std::variant<Ts...> &value) {
    if (isChosen())
      change(value, random.below(sizeof...(Ts)), std::index_sequence_for<Ts...>());
    std::visit([this](auto &held) { fields(*this, held); }, value);
  }
  template <typename T> void optional(std::optional<T> &value) {
    if (isChosen()) {
      if (value)
        value.reset();
      else
        value.emplace();
    }
    if (value)
      fields(*this, *value);
  }
  bool enter() { return ++depth < 40; }
  void leave() { --depth; }

private:
  bool isChosen() { return seen++ == target; }

  int64_t interesting(int64_t old) {
    const auto value = static_cast<uint64_t>(old), most = ~uint64_t(0);
    const uint64_t values[] = {0,
                               1,
                               most,
                               value + 1,
                               value - 1,
                               value * 2,
                               0 - value,
                               64,
                               63,
                               value + 64,
                               most >> 1,
                               (most >> 1) + 1,
                               most >> 32,
                               random.below(10),
                               random.below(4096) * 64,
                               uint64_t(1) << random.below(64)};
    return static_cast<int64_t>(values[random.below(std::size(values))]);
  }
  template <typename T> void change(std::vector<T> &items) {
    const size_t size = items.size();
    if (size == 0 || random.oneIn(8)) {
      items.emplace_back();
      return;
    }
    const size_t a = random.below(size), b = random.below(size);
    switch (random.below(4)) {
    case 0:
      items.erase(items.begin() + static_cast<ptrdiff_t>(a));
      break;
    case 1:
      if (size < 200)
        items.insert(items.begin() + static_cast<ptrdiff_t>(a), T(items[b]));
      break;
    case 2:
      std::swap(items[a], items[b]);
      break;
    default:
      items[a] = T(items[b]);
    }
  }
  template <typename V, size_t... I>
  static void change(V &value, size_t which, std::index_sequence<I...>) {
    ((which == I ? static_cast<void>(value.template emplace<I>()) : void()), ...);
  }

  Random &random;
  uint64_t target;
  size_t depth = 0;
};

void mutateObject(std::vector<std::byte> &object, Random &random) {
  if (object.size() < 8)
    return;
  // Fields of ELF are 2, 4 and 8 bytes, aligned to their size.
  const size_t width = size_t(2) << random.below(3);
  const size_t at = random.below(object.size() / width) * width;
  uint64_t value = 0;
  std::memcpy(&value, object.data() + at, width);
  const uint64_t values[] = {0,
                             1,
                             value + 1,
                             value - 1,
                             value ^ (1ull << random.below(64)),
                             ~uint64_t(0),
                             value + 4096,
                             object.size(),
                             random.below(64)};
  value = values[random.below(std::size(values))];
  std::memcpy(object.data() + at, &value, width);
}

} // namespace

std::vector<std::byte> mutateExecutable(std::span<const std::byte> bytes, Random &random) {
  Result<Executable> read = readExecutable(bytes);
  if (!read.isOk()) {
    std::string changed = mutateBits(
        std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()), random);
    std::vector<std::byte> result(changed.size());
    std::copy_n(std::as_bytes(std::span(changed)).begin(), changed.size(), result.begin());
    if (result.size() >= contentAt)
      seal(result);
    return result;
  }
  Executable executable = *std::move(read);
  for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    if (random.oneIn(4)) {
      std::vector<std::vector<std::byte>> &objects = executable.objects;
      mutateObject(objects.empty() || random.oneIn(4) ? executable.binary
                                                      : objects[random.below(objects.size())],
                   random);
      continue;
    }
    auto walk = [&](uint64_t target) {
      MutatorArchive archive(random, target);
      signatureFields(archive, executable);
      planFields(archive, executable);
      objectFields(archive, executable);
      statisticsFields(archive, executable);
      return archive.seen;
    };
    const uint64_t count = walk(~uint64_t(0));
    walk(random.below(count));
  }
  return writeExecutable(executable);
}

std::vector<std::vector<std::byte>>
executableSeeds(std::span<const std::vector<std::byte>> objects) {
  Executable sample = sampleExecutable();
  std::vector<std::vector<std::byte>> seeds = {writeExecutable(sample)};

  Executable loadable = sample;
  loadable.target.features = {"sse2"};
  for (size_t count = 1; count <= objects.size(); ++count) {
    loadable.objects.assign(objects.begin(), objects.begin() + static_cast<ptrdiff_t>(count));
    seeds.push_back(writeExecutable(loadable));
  }

  // Without kernels, so that the plan can be run after any mutation.
  Executable plain = sample;
  plain.objects.clear();
  plain.kernels.clear();
  for (Library &library : plain.libraries)
    library.bodies.clear();
  for (Block &block : plain.blocks)
    std::erase_if(block.steps,
                  [](const Step &step) { return std::holds_alternative<LaunchStep>(step.action); });
  seeds.push_back(writeExecutable(plain));
  seeds.push_back(writeExecutable(sampleGpuExecutable()));
  return seeds;
}

} // namespace tilewright::fuzz
