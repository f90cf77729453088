#include "tilewright/vgpu/driver/Settings.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Checker.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <thread>

namespace tilewright::vgpu::driver {

static constexpr Setting table[] = {
    {"TILEWRIGHT_VGPU_CHIP", "chip", "NAME,…",
     "sm_80, sm_86, sm_87, sm_89, sm_90 or sm_90a (default), or AMD's gfx942 or gfx950; a list\n"
     "                              sets the chip of each device"},
    {"TILEWRIGHT_VGPU_DEVICES", "devices", "N", "number of devices (default 1)"},
    {"TILEWRIGHT_VGPU_THREADS", "threads", "N", "host threads for one launch (default: all)"},
    {"TILEWRIGHT_VGPU_MEMORY", "memory", "BYTES",
     "memory of a device, such as 512M or 8G (default: the card's, or the host's if that is less)"},
    {"TILEWRIGHT_VGPU_ARITHMETIC", "arithmetic", "exact|hopper|fast",
     "arithmetic of tensor cores (default exact); fast: sums in f32, if bits do not matter"},
    {"TILEWRIGHT_VGPU_CHECK", "check", "NAME,…",
     "what to check or count while kernels run, see below (default nothing)"},
    {"TILEWRIGHT_VGPU_REPORT", "report", "FILE",
     "also write the findings to FILE, as text, JSON (.json) or SARIF (.sarif)"},
    {"TILEWRIGHT_VGPU_COUNTS", "counts", "DIR",
     "folder for the counts (tables, JSON, timelines) and for recordings; without it a table is\n"
     "                              printed"},
    {"TILEWRIGHT_VGPU_ORDER", "order", "eager|latest|seed:N",
     "when asynchronous copies and wgmma execute: at once (default), as late as allowed, or at\n"
     "                              random, with warps in a random order as well"},
    {"TILEWRIGHT_VGPU_TIMEOUT", "timeout", "SECONDS",
     "stop a kernel that runs longer and report where its warps are (default: never)"},
    {"TILEWRIGHT_VGPU_HOST_MEMORY", "host-memory", "0|1",
     "1: kernels may access all memory of the host, as with HMM, and so damage it (default 0:\n"
     "                              only driver allocations and registered memory)"},
    {"TILEWRIGHT_VGPU_ASYNC", "async", "0|1",
     "1: launches in the default stream return before they are done (default 0)"},
    {"TILEWRIGHT_VGPU_STICKY", "sticky", "0|1",
     "0: a failed kernel is reported once and its context stays usable (default 1)"},
    {"TILEWRIGHT_VGPU_PTXAS", "ptxas", "0|1",
     "0: compile without the real ptxas, which takes most of the time of a compile and checks\n"
     "                              the PTX (default 1)"},
    {"TILEWRIGHT_VGPU_VERBOSE", "verbose", "0|1", "1: print why a driver call failed"},
    {"TILEWRIGHT_VGPU_SUMMARY", "", "DIR", "folder for the summary of each process"},
};

std::span<const Setting> settingTable() { return table; }

static Status refuse(std::string_view variable, std::string_view value, std::string_view wanted) {
  return Status(Error::vgpuSetting, concat(variable, " is '", value, "', expected ", wanted,
                                           "; unset it or see `tilewright vgpu run --help`"));
}

static std::optional<std::string> valueOf(std::string_view variable) {
  const char *text = std::getenv(std::string(variable).c_str());
  return text && *text ? std::optional<std::string>(text) : std::nullopt;
}

static std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

static Result<uint64_t> number(std::string_view variable, uint64_t otherwise, uint64_t least,
                               uint64_t most, bool withUnits = false) {
  const std::optional<std::string> text = valueOf(variable);
  if (!text)
    return otherwise;
  uint64_t value = 0;
  const char *end = text->data() + text->size();
  auto [rest, error] = std::from_chars(text->data(), end, value);
  unsigned shift = 0;
  if (withUnits && error == std::errc() && end - rest == 1) {
    const size_t unit = std::string_view("KMG").find(*rest);
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      ++rest;
    }
  }
  if (error != std::errc() || rest != end || value > most >> shift || (value << shift) < least)
    return refuse(variable, *text,
                  concat("a whole number from ", least, " to ", most,
                         withUnits ? ", optionally followed by K, M or G" : ""));
  return value << shift;
}

/// Parses a time such as "2" or "0.5"; zero if the variable is not set.
static Result<std::chrono::nanoseconds> seconds(std::string_view variable) {
  const std::optional<std::string> text = valueOf(variable);
  if (!text)
    return std::chrono::nanoseconds(0);
  constexpr double most = 1e6;
  double value = 0;
  const char *end = text->data() + text->size();
  auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || rest != end || !(value > 0 && value <= most))
    return refuse(variable, *text, "a number of seconds above 0, up to 1000000");
  return std::chrono::nanoseconds(std::max<int64_t>(1, static_cast<int64_t>(value * 1e9)));
}

static Result<bool> flag(std::string_view variable, bool otherwise) {
  TILEWRIGHT_ASSIGN(const uint64_t value, number(variable, otherwise ? 1 : 0, 0, 1));
  return value == 1;
}

/// Reads the chips of the devices.
static Status readChips(Vendor vendor, Settings &settings) {
  constexpr std::string_view variable = "TILEWRIGHT_VGPU_CHIP";
  const std::string_view otherwise = vendor == Vendor::amd ? "gfx950" : "sm_90a";
  const std::string text = valueOf(variable).value_or(std::string(otherwise));
  for (const std::string &name : split(text)) {
    if (const machine::Chip *chip = machine::findChip(name)) {
      settings.chips.push_back(chip);
    } else if (const chips::AmdChip *found = chips::findAmdChip(name)) {
      settings.amdChips.push_back(found);
    } else {
      std::vector<std::string_view> names;
      for (const machine::Chip &one : machine::chips())
        names.push_back(one.name);
      for (const chips::AmdChip &one : chips::amdChips())
        names.push_back(one.name);
      return refuse(variable, name, concat("one of ", listed(names)));
    }
  }
  if (settings.chips.empty() == settings.amdChips.empty())
    return refuse(variable, text,
                  settings.chips.empty() ? "the name of a chip" : "chips of one vendor");
  return Status();
}

Result<Settings> Settings::fromEnvironment(Vendor vendor) {
  Settings settings;
  TILEWRIGHT_TRY(readChips(vendor, settings));
  constexpr uint64_t maxDevices = 64, maxThreads = 1024;
  TILEWRIGHT_ASSIGN(const uint64_t devices,
                    number("TILEWRIGHT_VGPU_DEVICES",
                           settings.chips.size() + settings.amdChips.size(), 0, maxDevices));
  settings.devices = static_cast<int>(devices);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  TILEWRIGHT_ASSIGN(const uint64_t threads,
                    number("TILEWRIGHT_VGPU_THREADS", cores, 1, maxThreads));
  settings.threads = static_cast<unsigned>(threads);
  TILEWRIGHT_ASSIGN(settings.memoryBytes,
                    number("TILEWRIGHT_VGPU_MEMORY", 0, 1 << 20, uint64_t(1) << 46, true));
  const std::string arithmetic = valueOf("TILEWRIGHT_VGPU_ARITHMETIC").value_or("exact");
  if (arithmetic == "hopper")
    settings.arithmetic = machine::Arithmetic::hopper;
  else if (arithmetic == "fast")
    settings.arithmetic = machine::Arithmetic::fast;
  else if (arithmetic != "exact")
    return refuse("TILEWRIGHT_VGPU_ARITHMETIC", arithmetic, "exact, hopper or fast");
  TILEWRIGHT_ASSIGN(const bool async, flag("TILEWRIGHT_VGPU_ASYNC", false));
  settings.defaultStreamWaits = !async;
  TILEWRIGHT_ASSIGN(settings.stickyErrors, flag("TILEWRIGHT_VGPU_STICKY", true));
  TILEWRIGHT_ASSIGN(settings.verbose, flag("TILEWRIGHT_VGPU_VERBOSE", false));
  TILEWRIGHT_ASSIGN(settings.timeLimit, seconds("TILEWRIGHT_VGPU_TIMEOUT"));
  TILEWRIGHT_ASSIGN(settings.usesHostMemory, flag("TILEWRIGHT_VGPU_HOST_MEMORY", false));
  // Only validate the variable here: our ptxas replacement reads it.
  TILEWRIGHT_TRY(flag("TILEWRIGHT_VGPU_PTXAS", true).takeStatus());
  settings.checks = split(valueOf("TILEWRIGHT_VGPU_CHECK").value_or(""));
  for (const std::string &check : settings.checks)
    if (settings.vendor() == Vendor::amd && (check == "count" || check == "record"))
      return refuse(
          "TILEWRIGHT_VGPU_CHECK", check,
          "only checks (all, races, uninit, bounds, barriers or strict): launches on AMD's "
          "chips are neither counted nor recorded yet");
  settings.reportPath = valueOf("TILEWRIGHT_VGPU_REPORT").value_or("");
  settings.countDirectory = valueOf("TILEWRIGHT_VGPU_COUNTS").value_or("");
  if (settings.countDirectory.empty() &&
      std::find(settings.checks.begin(), settings.checks.end(), "record") != settings.checks.end())
    return refuse("TILEWRIGHT_VGPU_CHECK", "record",
                  "TILEWRIGHT_VGPU_COUNTS to name the folder for recordings as well");
  const std::string order = valueOf("TILEWRIGHT_VGPU_ORDER").value_or("eager");
  check::Options options;
  if (!options.setOrder(order).isOk())
    return refuse("TILEWRIGHT_VGPU_ORDER", order, "eager, latest or seed:N");
  settings.completion = options.completion;
  settings.seed = options.seed;
  settings.summaryDirectory = valueOf("TILEWRIGHT_VGPU_SUMMARY").value_or("");
  return settings;
}

} // namespace tilewright::vgpu::driver
