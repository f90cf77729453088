#include "tilewright/vgpu/machine/Externs.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/Barriers.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace tilewright::vgpu::machine {

std::atomic<ConditionalSetter *> conditionalSetter = nullptr;

std::optional<Extern> externOf(std::string_view name) {
  if (name == "vprintf")
    return Extern::vprintf;
  if (name == "__assertfail")
    return Extern::assertFail;
  if (name == "malloc")
    return Extern::malloc;
  if (name == "free")
    return Extern::free;
  if (name == "cudaGraphSetConditional")
    return Extern::setConditional;
  return std::nullopt;
}

ExternSignature signatureOf(Extern which) {
  switch (which) {
  case Extern::vprintf:
    return {2, 1};
  case Extern::assertFail:
    return {5, 0};
  case Extern::malloc:
    return {1, 1};
  case Extern::setConditional:
    return {2, 0};
  default:
    return {1, 0};
  }
}

namespace {

/// A call by a single lane.
struct Call {
  Warp &warp;
  const Op *op;
  const ExternForm &form;
  unsigned lane;

  uint64_t argument(size_t i) const {
    const CallValue &value = form.site.arguments[i];
    uint64_t bits = 0;
    std::memcpy(&bits, addressOfValue(warp, warp.frame, value, static_cast<int>(lane)),
                std::min<size_t>(value.bytes, 8));
    return bits;
  }
  void giveBack(uint64_t bits) const {
    if (form.site.results.empty())
      return;
    const CallValue &value = form.site.results[0];
    std::memcpy(addressOfValue(warp, warp.frame, value, static_cast<int>(lane)), &bits,
                std::min<size_t>(value.bytes, 8));
  }
  /// Reads a zero-terminated text from the kernel's memory. nullopt after a fault.
  std::optional<std::string> text(uint64_t address) const {
    constexpr size_t longest = 1 << 16;
    if (address == 0)
      return "(null)";
    std::string result;
    while (result.size() < longest) {
      const std::byte *at = resolve(warp, op, Space::generic, address + result.size(), lane, 1);
      if (!at)
        return std::nullopt;
      if (*at == std::byte(0))
        break;
      result += static_cast<char>(*at);
    }
    return result;
  }
};

/// Reads values from the buffer that the caller of vprintf packed; each is aligned to its size.
class Arguments {
public:
  Arguments(const Call &call, uint64_t address) : call(call), address(address) {}
  /// False after a fault.
  template <typename T> bool take(T &value) {
    address = (address + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const std::byte *at =
        resolve(call.warp, call.op, Space::generic, address, call.lane, sizeof(T));
    if (!at)
      return false;
    std::memcpy(&value, at, sizeof(T));
    address += sizeof(T);
    ++count;
    return true;
  }
  uint64_t count = 0;

private:
  const Call &call;
  uint64_t address;
};

} // namespace

template <typename T> static void append(std::string &out, const std::string &format, T value) {
  char small[256];
  const int length = std::snprintf(small, sizeof(small), format.c_str(), value);
  if (length < 0)
    return;
  if (static_cast<size_t>(length) < sizeof(small)) {
    out.append(small, static_cast<size_t>(length));
    return;
  }
  std::string large(static_cast<size_t>(length) + 1, '\0');
  std::snprintf(large.data(), large.size(), format.c_str(), value);
  out.append(large.data(), static_cast<size_t>(length));
}

namespace {

/// Formats like printf in CUDA C++: without %n; unknown conversions are printed unchanged.
class Formatter {
public:
  /// Appends to `out`.
  Formatter(const Call &call, const std::string &format, Arguments &arguments, std::string &out)
      : call(call), format(format), arguments(arguments), out(out) {}

  /// False after a fault.
  bool run();

private:
  static constexpr int widest = 4096; // maximum field width: a bad * must not exhaust memory

  /// The next character of the format; 0 at its end.
  char peek() const { return at < format.size() ? format[at] : '\0'; }
  bool isNextOneOf(std::string_view characters) const {
    return at < format.size() && characters.find(format[at]) != characters.npos;
  }
  /// Formats one conversion. `at` is after its '%'; false after a fault.
  bool conversion();
  /// Appends the width or the precision, if present, to `spec`; false after a fault.
  bool number();
  /// Takes an argument and formats it with `spec` and a conversion; false after a fault.
  template <typename T> bool value(const std::string &conversion);
  bool text();

  const Call &call;
  const std::string &format;
  Arguments &arguments;
  std::string &out;
  size_t at = 0; // in `format`
  // The current conversion as snprintf expects it: '%', flags, width, precision and any 'h'.
  std::string spec;
};

bool Formatter::run() {
  while (at < format.size()) {
    const char next = format[at++];
    if (next != '%') {
      out += next;
    } else if (peek() == '%') {
      out += '%';
      ++at;
    } else if (!conversion()) {
      return false;
    }
  }
  return true;
}

bool Formatter::conversion() {
  const size_t start = at - 1;
  spec = "%";
  while (isNextOneOf("-+ #0"))
    spec += format[at++];
  if (!number())
    return false;
  if (peek() == '.') {
    spec += '.';
    ++at;
    if (!number())
      return false;
  }
  bool isLong = false;
  while (isNextOneOf("hlLjzt")) {
    isLong |= isNextOneOf("ljzt");
    if (format[at] == 'h')
      spec += 'h';
    ++at;
  }
  const char letter = peek();
  ++at;
  switch (letter) {
  case 'd':
  case 'i':
  case 'u':
  case 'o':
  case 'x':
  case 'X':
    return isLong ? value<long long>(std::string("ll") + letter) : value<int>({letter});
  case 'c':
    return value<int>({letter});
  case 'e':
  case 'E':
  case 'f':
  case 'F':
  case 'g':
  case 'G':
  case 'a':
  case 'A':
    return value<double>({letter});
  case 'p':
    return value<void *>({letter});
  case 's':
    return text();
  default:
    out += format.substr(start, at - start);
    return true;
  }
}

bool Formatter::number() {
  auto isDigit = [&] { return peek() >= '0' && peek() <= '9'; };
  int value = 0;
  if (peek() == '*') {
    ++at;
    if (!arguments.take(value))
      return false;
  } else {
    if (!isDigit())
      return true;
    while (isDigit())
      value = std::min(value * 10 + (format[at++] - '0'), widest);
  }
  spec += std::to_string(std::min(std::max(value, -widest), widest));
  return true;
}

template <typename T> bool Formatter::value(const std::string &conversion) {
  T argument{};
  if (!arguments.take(argument))
    return false;
  append(out, spec + conversion, argument);
  return true;
}

bool Formatter::text() {
  uint64_t address = 0;
  if (!arguments.take(address))
    return false;
  const std::optional<std::string> content = call.text(address);
  if (!content)
    return false;
  append(out, spec + 's', content->c_str());
  return true;
}

} // namespace

/// Memory that kernels have allocated with malloc and not freed. As on a physical GPU, it outlives
/// launches.
namespace {
struct DeviceHeap {
  std::mutex mutex;
  std::map<uint64_t, size_t> blocks; // guarded by mutex
  size_t used = 0;                   // guarded by mutex

  static DeviceHeap &instance() {
    static DeviceHeap heap;
    return heap;
  }
  uint64_t take(uint64_t bytes) {
    std::lock_guard lock(mutex);
    if (bytes == 0 || bytes > deviceHeapBytes - used)
      return 0;
    const size_t rounded = (bytes + 15) / 16 * 16;
    void *block = std::aligned_alloc(16, rounded);
    if (!block)
      return 0;
    used += std::min<size_t>(bytes, deviceHeapBytes - used);
    blocks[reinterpret_cast<uint64_t>(block)] = bytes;
    allocations().add(reinterpret_cast<uint64_t>(block), bytes, AllocationKind::heap, 0);
    return reinterpret_cast<uint64_t>(block);
  }
  bool give(uint64_t address) {
    std::lock_guard lock(mutex);
    auto found = blocks.find(address);
    if (found == blocks.end())
      return false;
    used -= found->second;
    blocks.erase(found);
    allocations().remove(address);
    std::free(reinterpret_cast<void *>(address));
    return true;
  }
};
} // namespace

static std::string describeThread(const Warp &warp, unsigned lane) {
  const Dim3 &block = warp.block->id;
  return concat("block [", block[0], ",", block[1], ",", block[2], "], thread [", warp.tid[0][lane],
                ",", warp.tid[1][lane], ",", warp.tid[2][lane], "]");
}

After runExtern(Warp &warp, const Op *op, std::byte *, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const ExternForm *>(op->extra);
  std::string printed;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Call call{warp, op, form, lane};
    switch (form.which) {
    case Extern::vprintf: {
      const std::optional<std::string> format = call.text(call.argument(0));
      if (!format)
        return After::stop;
      Arguments arguments(call, call.argument(1));
      if (!Formatter(call, *format, arguments, printed).run())
        return After::stop;
      call.giveBack(arguments.count);
      break;
    }
    case Extern::assertFail: {
      const std::optional<std::string> message = call.text(call.argument(0));
      const std::optional<std::string> file = message ? call.text(call.argument(1)) : message;
      const std::optional<std::string> function = file ? call.text(call.argument(3)) : file;
      if (!function)
        return After::stop;
      const std::string what =
          concat(*file, ":", static_cast<uint32_t>(call.argument(2)), ": ", *function, ": ",
                 describeThread(warp, lane), ": assertion `", *message, "` failed");
      // As in CUDA, every thread that fails prints its message; the first one ends the launch.
      std::fprintf(stderr, "%s\n", what.c_str());
      if (rest == active)
        fault(warp, op, Error::vgpuAssert, what);
      break;
    }
    case Extern::malloc:
      call.giveBack(DeviceHeap::instance().take(call.argument(0)));
      break;
    case Extern::setConditional: {
      ConditionalSetter *set = conditionalSetter;
      const uint64_t handle = call.argument(0);
      if (rest != active) {
        fault(warp, op, Error::vgpuFault,
              concat(describeThread(warp, lane),
                     " and another thread call "
                     "cudaGraphSetConditional at the same time, which is undefined"));
        return After::stop;
      }
      if (!set || !set(handle, static_cast<uint32_t>(call.argument(1)))) {
        fault(warp, op, Error::vgpuFault,
              concat(describeThread(warp, lane), " sets the condition ", handle,
                     ", which no graph has"));
        return After::stop;
      }
      break;
    }
    case Extern::free: {
      const uint64_t address = call.argument(0);
      if (address != 0 && !DeviceHeap::instance().give(address)) {
        fault(warp, op, Error::vgpuAccess,
              concat(describeThread(warp, lane), " frees address ", address,
                     ", which malloc did not return or which was already freed"));
        return After::stop;
      }
      break;
    }
    }
  }
  if (form.which == Extern::assertFail)
    return After::stop;
  if (!printed.empty()) {
    // Use a single write, so that the lines of concurrent warps do not mix.
    std::fwrite(printed.data(), 1, printed.size(), stdout);
    std::fflush(stdout);
  }
  return After::next;
}

} // namespace tilewright::vgpu::machine
