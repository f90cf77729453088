#include "tilewright/target/nvptx/Ptxas.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/target/codegen/RunTool.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"

#include <cstring>
#include <optional>

using namespace llvm;

namespace tilewright::nvptx {

using codegen::Ran, codegen::runTool, codegen::Temporary;

static void addWheels(SmallVectorImpl<std::string> &places) {
  auto environment = sys::Process::GetEnv("VIRTUAL_ENV");
  if (!environment)
    return;
  SmallString<128> libraries(*environment);
  sys::path::append(libraries, "lib");
  std::error_code error;
  for (sys::fs::directory_iterator python(libraries, error), end; !error && python != end;
       python.increment(error))
    for (const char *inside :
         {"nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "triton/backends/nvidia/bin"})
      places.push_back(python->path() + "/site-packages/" + inside);
}

Result<Ptxas> Ptxas::find(std::string_view path) {
  Ptxas result;
  std::string tried;
  if (!path.empty()) {
    result.where = std::string(path);
    if (!sys::fs::can_execute(result.where))
      return Status(Error::ptxasMissing,
                    concat("'", path, "' is not executable; specify the ptxas of a CUDA toolkit"));
  } else {
    SmallVector<std::string> places = {"/usr/local/cuda/bin"};
    addWheels(places);
    auto found = sys::findProgramByName("ptxas");
    if (!found) {
      SmallVector<StringRef> folders(places.begin(), places.end());
      found = sys::findProgramByName("ptxas", folders);
    }
    if (!found)
      return Status(Error::ptxasMissing,
                    concat("found no ptxas in PATH, ", llvm::join(places, ", "),
                           "; install the CUDA toolkit or the wheel nvidia-cuda-nvcc, or let the "
                           "driver compile the PTX"));
    result.where = *found;
  }
  Ran said = runTool(result.where, {"--version"});
  // "Cuda compilation tools, release 13.0, V13.0.88"
  StringRef version = StringRef(said.output).split(", V").second.split('\n').first.rtrim();
  SmallVector<StringRef> parts;
  version.split(parts, '.');
  int64_t major = 0, minor = 0;
  if (said.exitCode != 0 || parts.size() < 2 || parts[0].getAsInteger(10, major) ||
      parts[1].getAsInteger(10, minor))
    return Status(
        Error::ptxasMissing,
        concat("'", result.where, "' --version did not print a ptxas version: ", said.output));
  result.name = version.str();
  result.number = major * 100 + minor;
  return result;
}

/// The oldest version of ptxas that supports a PTX version: CUDA 11.0 supports 7.0, 12.0 supports
/// 8.0, 13.0 supports 9.0, and each minor release adds one.
static int64_t leastFor(int64_t ptxVersion) {
  return (ptxVersion / 10 + 4) * 100 + ptxVersion % 10;
}

std::vector<KernelBudget> parseBudgets(std::string_view log) {
  std::vector<KernelBudget> kernels;
  auto numberBefore = [](StringRef line, StringRef word) -> int64_t {
    size_t at = line.find(word);
    if (at == StringRef::npos)
      return 0;
    StringRef before = line.take_front(at).rtrim();
    int64_t value = 0;
    before.take_back(before.size() - (before.find_last_not_of("0123456789") + 1))
        .getAsInteger(10, value);
    return value;
  };
  SmallVector<StringRef> lines;
  StringRef(log.data(), log.size()).split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function '")) {
      KernelBudget &kernel = kernels.emplace_back();
      kernel.symbol = line.split('\'').second.split('\'').first.str();
    }
    if (kernels.empty())
      continue;
    KernelBudget &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = numberBefore(line, " bytes stack frame");
      kernel.spillStoreBytes = numberBefore(line, " bytes spill stores");
      kernel.spillLoadBytes = numberBefore(line, " bytes spill loads");
    } else if (line.contains("Used ") && line.contains(" registers")) {
      kernel.registers = numberBefore(line, " registers");
      kernel.barriers = numberBefore(line, " barriers");
      kernel.sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return kernels;
}

/// The content of a cache entry: the length of the log, the log, the cubin.
static std::vector<std::byte> packed(const Assembled &made) {
  const std::string text = concat(made.log.size(), "\n", made.log);
  const auto *begin = reinterpret_cast<const std::byte *>(text.data());
  std::vector<std::byte> bytes(begin, begin + text.size());
  bytes.insert(bytes.end(), made.binary.begin(), made.binary.end());
  return bytes;
}
static std::optional<Assembled> unpacked(ArrayRef<std::byte> bytes) {
  const StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  auto [length, rest] = text.split('\n');
  uint64_t logBytes;
  if (length.getAsInteger(10, logBytes) || logBytes > rest.size())
    return std::nullopt;
  Assembled made;
  made.log = rest.take_front(logBytes).str();
  const StringRef binary = rest.drop_front(logBytes);
  made.binary.resize(binary.size());
  std::memcpy(made.binary.data(), binary.data(), binary.size());
  made.kernels = parseBudgets(made.log);
  return made;
}

Result<Assembled> Ptxas::assemble(std::string_view ptx, const Chip &chip,
                                  const FileCache *cache) const {
  if (number < leastFor(chip.ptxVersion))
    return Status(Error::ptxasVersion,
                  concat("'", where, "' is version ", name, ", but code for ", chip.name,
                         " needs PTX ", chip.ptxVersion / 10, ".", chip.ptxVersion % 10,
                         ", which requires ptxas ", leastFor(chip.ptxVersion) / 100, ".",
                         leastFor(chip.ptxVersion) % 100, " or later"));
  // Forbids contraction; only explicit fma instructions are fused.
  // The virtual GPU reads lines from the PTX; in the machine code they would more than double its
  // size.
  const std::string flags[] = {concat("-arch=", chip.name), "-v", "--fmad=false",
                               "--suppress-debug-info"};
  std::string key;
  if (cache) {
    SHA256 hash;
    for (std::string_view part :
         {ptx, std::string_view(version()), std::string_view(flags[0]), std::string_view(flags[1]),
          std::string_view(flags[2]), std::string_view(flags[3])}) {
      hash.update(StringRef(part.data(), part.size()));
      hash.update(StringRef("\0", 1));
    }
    key = concat("cubin-", toHex(hash.final(), true));
    if (auto bytes = cache->load(key))
      if (std::optional<Assembled> known = unpacked(*bytes))
        return *std::move(known);
  }
  Assembled made;
  Temporary source("ptx"), binary("cubin");
  if (!source.write(StringRef(ptx.data(), ptx.size())))
    return Status(Error::ptxasRefused, concat("cannot write the temporary file '",
                                              source.path().str(), "'; check the free disk space"));
  Ran ran =
      runTool(where, {flags[0], flags[1], flags[2], flags[3], "-o", binary.path(), source.path()});
  made.log = ran.output;
  if (WorkLimit::mustStop())
    return WorkLimit::stopAt(concat("ptxas for ", chip.name));
  if (ran.exitCode != 0)
    return Status(Error::ptxasRefused,
                  concat("'", where, "' ", name, " for ", chip.name, " failed with exit code ",
                         ran.exitCode, ":\n", ran.output));
  std::string bytes = binary.text();
  made.binary.resize(bytes.size());
  std::memcpy(made.binary.data(), bytes.data(), bytes.size());
  made.kernels = parseBudgets(made.log);
  // Ignore a failure to write the cache: it only costs time in the next compilation. Cache only
  // machine code, because a program that is not really ptxas may produce something else.
  if (cache && StringRef(bytes).starts_with("\177ELF"))
    (void)cache->store(key, packed(made)).isOk();
  return made;
}

} // namespace tilewright::nvptx
