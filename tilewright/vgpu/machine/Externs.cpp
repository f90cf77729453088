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

std::optional<Extern> externOf(std::string_view name) {
  if (name == "vprintf")
    return Extern::vprintf;
  if (name == "__assertfail")
    return Extern::assertFail;
  if (name == "malloc")
    return Extern::malloc;
  if (name == "free")
    return Extern::free;
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

/// Formats like printf in CUDA C++: without %n; unknown conversions are printed unchanged.
static bool formatCall(const Call &call, const std::string &format, Arguments &arguments,
                       std::string &out) {
  constexpr int widest = 4096; // maximum width of a field; a wild * must not fill the memory
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      out += '%';
      ++i;
      continue;
    }
    size_t at = i + 1;
    std::string spec = "%";
    while (at < format.size() && std::strchr("-+ #0", format[at]))
      spec += format[at++];
    auto number = [&]() -> bool {
      int value = 0;
      if (at < format.size() && format[at] == '*') {
        ++at;
        if (!arguments.take(value))
          return false;
      } else {
        if (at >= format.size() || format[at] < '0' || format[at] > '9')
          return true;
        while (at < format.size() && format[at] >= '0' && format[at] <= '9')
          value = std::min(value * 10 + (format[at++] - '0'), widest);
      }
      spec += std::to_string(std::min(std::max(value, -widest), widest));
      return true;
    };
    if (!number())
      return false;
    if (at < format.size() && format[at] == '.') {
      spec += '.';
      ++at;
      if (!number())
        return false;
    }
    unsigned longs = 0;
    while (at < format.size() && std::strchr("hlLjzt", format[at])) {
      longs += format[at] == 'l' || format[at] == 'j' || format[at] == 'z' || format[at] == 't';
      if (format[at] == 'h')
        spec += 'h';
      ++at;
    }
    const char conversion = at < format.size() ? format[at] : '\0';
    switch (conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      if (longs > 0) {
        long long value = 0;
        if (!arguments.take(value))
          return false;
        append(out, spec + "ll" + conversion, value);
      } else {
        int value = 0;
        if (!arguments.take(value))
          return false;
        append(out, spec + conversion, value);
      }
      break;
    case 'c': {
      int value = 0;
      if (!arguments.take(value))
        return false;
      append(out, spec + conversion, value);
      break;
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
      double value = 0;
      if (!arguments.take(value))
        return false;
      append(out, spec + conversion, value);
      break;
    }
    case 'p': {
      uint64_t value = 0;
      if (!arguments.take(value))
        return false;
      append(out, spec + conversion, reinterpret_cast<void *>(value));
      break;
    }
    case 's': {
      uint64_t address = 0;
      if (!arguments.take(address))
        return false;
      const std::optional<std::string> text = call.text(address);
      if (!text)
        return false;
      append(out, spec + conversion, text->c_str());
      break;
    }
    default:
      out += format.substr(i, at + 1 - i);
      break;
    }
    i = at;
  }
  return true;
}

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
      if (!formatCall(call, *format, arguments, printed))
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
      // Every failing thread prints its message, as in CUDA; the first one ends the launch.
      std::fprintf(stderr, "%s\n", what.c_str());
      if (rest == active)
        fault(warp, op, Error::vgpuAssert, what);
      break;
    }
    case Extern::malloc:
      call.giveBack(DeviceHeap::instance().take(call.argument(0)));
      break;
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
