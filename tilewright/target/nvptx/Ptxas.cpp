#include "tilewright/target/nvptx/Ptxas.h"

#include "tilewright/support/Concat.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"

#include <cstring>

using namespace llvm;

namespace tilewright::nvptx {

namespace {

/// A file that is gone when this is.
class Temporary {
public:
  explicit Temporary(StringRef suffix) { sys::fs::createTemporaryFile("tilewright", suffix, name); }
  ~Temporary() { sys::fs::remove(name); }
  StringRef path() const { return name; }
  std::string text() const {
    auto buffer = MemoryBuffer::getFile(name);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }
  bool write(StringRef text) const {
    std::error_code error;
    raw_fd_ostream stream(name, error);
    stream << text;
    stream.close();
    return !error && !stream.has_error();
  }

private:
  SmallString<128> name;
};

struct Ran {
  int exitCode;
  std::string output;
};

/// Runs a program to its end, at most two minutes, and gives both of its outputs.
Ran run(StringRef program, ArrayRef<StringRef> arguments) {
  Temporary log("log");
  SmallVector<StringRef> all = {program};
  all.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), log.path(), log.path()};
  std::string error;
  int exitCode = sys::ExecuteAndWait(program, all, std::nullopt, redirects, 120, 0, &error);
  return {exitCode, error.empty() ? log.text() : error};
}

void addWheels(SmallVectorImpl<std::string> &places) {
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

} // namespace

Result<Ptxas> Ptxas::find(std::string_view path) {
  Ptxas result;
  std::string tried;
  if (!path.empty()) {
    result.where = std::string(path);
    if (!sys::fs::can_execute(result.where))
      return Status(Error::ptxasMissing, concat("'", path,
                                                "' is no program that can be run; name "
                                                "the ptxas of a CUDA toolkit"));
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
                    concat("no ptxas in PATH, ", llvm::join(places, ", "),
                           "; install the CUDA toolkit or the wheel nvidia-cuda-nvcc, or let the "
                           "driver compile the PTX"));
    result.where = *found;
  }
  Ran said = run(result.where, {"--version"});
  // "Cuda compilation tools, release 13.0, V13.0.88"
  StringRef version = StringRef(said.output).split(", V").second.split('\n').first.rtrim();
  SmallVector<StringRef> parts;
  version.split(parts, '.');
  int64_t major = 0, minor = 0;
  if (said.exitCode != 0 || parts.size() < 2 || parts[0].getAsInteger(10, major) ||
      parts[1].getAsInteger(10, minor))
    return Status(Error::ptxasMissing, concat("'", result.where,
                                              "' does not say its version as "
                                              "ptxas does: ",
                                              said.output));
  result.name = version.str();
  result.number = major * 100 + minor;
  return result;
}

/// The least version of ptxas that reads a version of PTX: CUDA 11.0 reads 7.0, 12.0 reads 8.0,
/// 13.0 reads 9.0, and each minor release one more.
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

/// A cached result is the log's length, the log and the cubin.
static std::string packed(const Assembled &made) {
  std::string text = concat(made.log.size(), "\n", made.log);
  text.append(reinterpret_cast<const char *>(made.binary.data()), made.binary.size());
  return text;
}
static bool unpack(StringRef text, Assembled &made) {
  auto [length, rest] = text.split('\n');
  uint64_t bytes;
  if (length.getAsInteger(10, bytes) || bytes > rest.size())
    return false;
  made.log = rest.take_front(bytes).str();
  StringRef binary = rest.drop_front(bytes);
  if (!binary.starts_with("\177ELF"))
    return false;
  made.binary.resize(binary.size());
  std::memcpy(made.binary.data(), binary.data(), binary.size());
  return true;
}

Result<Assembled> Ptxas::assemble(std::string_view ptx, const Chip &chip,
                                  std::string_view cacheDirectory) const {
  if (number < leastFor(chip.ptxVersion))
    return Status(Error::ptxasVersion,
                  concat("'", where, "' is version ", name, ", and code for ", chip.name,
                         " needs one that reads PTX ", chip.ptxVersion / 10, ".",
                         chip.ptxVersion % 10, ", which is ", leastFor(chip.ptxVersion) / 100, ".",
                         leastFor(chip.ptxVersion) % 100, " or later"));
  const std::string architecture = concat("-arch=", chip.name);
  Assembled made;
  SmallString<128> entry;
  if (!cacheDirectory.empty()) {
    SHA256 hash;
    for (std::string_view part : {ptx, std::string_view(architecture), std::string_view(name)}) {
      hash.update(StringRef(part.data(), part.size()));
      hash.update(StringRef("\0", 1));
    }
    entry = StringRef(cacheDirectory.data(), cacheDirectory.size());
    sys::path::append(entry, toHex(hash.final(), true) + ".cubin");
    // Whatever is wrong with an entry, it is made again.
    if (auto known = MemoryBuffer::getFile(entry); known && unpack((*known)->getBuffer(), made)) {
      made.kernels = parseBudgets(made.log);
      return made;
    }
    made = {};
  }
  Temporary source("ptx"), binary("cubin");
  if (!source.write(StringRef(ptx.data(), ptx.size())))
    return Status(Error::ptxasRefused, concat("cannot write '", source.path().str(),
                                              "' for ptxas to read; is the disk full?"));
  // Nothing is contracted but what is written as fma.
  Ran ran = run(where, {architecture, "-v", "--fmad=false", "-o", binary.path(), source.path()});
  made.log = ran.output;
  if (ran.exitCode != 0)
    return Status(Error::ptxasRefused, concat("'", where, "' ", name, " for ", chip.name,
                                              " ended with ", ran.exitCode, ":\n", ran.output));
  std::string bytes = binary.text();
  made.binary.resize(bytes.size());
  std::memcpy(made.binary.data(), bytes.data(), bytes.size());
  made.kernels = parseBudgets(made.log);
  if (!entry.empty() &&
      !sys::fs::create_directories(StringRef(cacheDirectory.data(), cacheDirectory.size()))) {
    // Written beside and renamed, so that a reader never sees half of it.
    std::string beside = (entry + "." + Twine(sys::Process::getProcessId())).str();
    std::error_code error;
    {
      raw_fd_ostream stream(beside, error);
      stream << packed(made);
    }
    if (error || sys::fs::rename(beside, entry))
      sys::fs::remove(beside);
  }
  return made;
}

} // namespace tilewright::nvptx
