#include "tilewright/vgpu/run/Run.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Observe.h"
#include "tilewright/vgpu/driver/Settings.h"
#include "tilewright/vgpu/run/Collect.h"
#include "tilewright/vgpu/run/Process.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace tilewright::vgpu::run {

namespace fs = std::filesystem;

namespace {
struct Call {
  std::vector<std::pair<std::string, std::string>> settings; // variable, value
  std::vector<std::string> command;
  bool isQuiet = false;
};
} // namespace

static std::string help() {
  std::string text = "tilewright vgpu run: runs a program with the virtual GPU in place of a real "
                     "one\n\nusage: tilewright vgpu run [FLAGS] -- PROGRAM [ARGUMENTS]\n\n";
  auto row = [&](std::string left, std::string_view right) {
    left.resize(std::max<size_t>(left.size() + 1, 30), ' ');
    text += concat(left, right, "\n");
  };
  for (const driver::Setting &setting : driver::settingTable())
    if (!setting.flag.empty())
      row(concat("  --", setting.flag, "=", setting.value), setting.summary);
  row("  --quiet", "print no summary at the end");
  if (!driver::observationKinds().empty()) {
    text += "\nchecks:\n";
    for (const driver::ObservationKind &kind : driver::observationKinds())
      row(concat("  ", kind.name), kind.summary);
  }
  text += "\nThe program finds our libcuda.so.1, and Triton a ptxas that lets the real one check "
          "the PTX\nif it is installed (TILEWRIGHT_PTXAS, PATH, /usr/local/cuda/bin, or the one of "
          "Triton) and\nthen hands the PTX on. The exit code is the program's, or 1 if that\nwas 0 "
          "and a check found something.\n";
  return text;
}

static Result<Call> parse(std::span<const std::string_view> arguments) {
  Call call;
  size_t i = 0;
  for (; i < arguments.size() && arguments[i].substr(0, 2) == "--"; ++i) {
    if (arguments[i] == "--") {
      ++i;
      break;
    }
    if (arguments[i] == "--quiet") {
      call.isQuiet = true;
      continue;
    }
    const std::string_view body = arguments[i].substr(2);
    const size_t equals = body.find('=');
    const std::string_view name = body.substr(0, equals);
    const driver::Setting *found = nullptr;
    for (const driver::Setting &setting : driver::settingTable())
      if (!name.empty() && setting.flag == name)
        found = &setting;
    if (!found)
      return Status(Error::vgpuCommand, concat("`tilewright vgpu run` has no flag --", name,
                                               "; put -- in front of the program's own flags"));
    if (equals == std::string_view::npos)
      return Status(Error::vgpuCommand,
                    concat("--", name, " needs a value: --", name, "=", found->value));
    call.settings.emplace_back(found->variable, body.substr(equals + 1));
  }
  for (; i < arguments.size(); ++i)
    call.command.emplace_back(arguments[i]);
  if (call.command.empty())
    return Status(Error::vgpuCommand, "`tilewright vgpu run` needs a program to run, as in "
                                      "`tilewright vgpu run -- python kernel.py`");
  return call;
}

static void setDefault(const char *variable, const std::string &value) {
  setenv(variable, value.c_str(), /*overwrite=*/0);
}

static void prepend(const char *variable, const std::string &folder) {
  const char *now = std::getenv(variable);
  setenv(variable, now && *now ? concat(folder, ":", now).c_str() : folder.c_str(), 1);
}

/// The ptxas that came with the Triton of the Python that is on PATH; empty if there is none.
static std::string ptxasOfTriton(const std::string &program) {
  std::vector<std::string> pythons = {program.find('/') == std::string::npos ? findOnPath(program)
                                                                             : program,
                                      findOnPath("python3"), findOnPath("python")};
  for (const std::string &python : pythons) {
    if (python.empty())
      continue;
    std::error_code error;
    const fs::path libraries = fs::path(python).parent_path().parent_path() / "lib";
    for (const auto &entry : fs::directory_iterator(libraries, error)) {
      const std::string found =
          (entry.path() / "site-packages/triton/backends/nvidia/bin/ptxas").string();
      if (isExecutable(found))
        return found;
    }
  }
  return "";
}

static Status setEnvironment(const Call &call, const std::string &libraries,
                             const std::string &summaries) {
  for (const auto &[variable, value] : call.settings)
    setenv(variable.c_str(), value.c_str(), 1);
  // A value that is wrong is told here, before the program hides it behind "no CUDA device".
  TILEWRIGHT_ASSIGN(driver::Settings settings, driver::Settings::fromEnvironment());
  TILEWRIGHT_TRY(driver::checkObservationNames(settings.checks));
  setenv("TILEWRIGHT_VGPU_SUMMARY", summaries.c_str(), 1);
  prepend("LD_LIBRARY_PATH", libraries);
  const std::string ptxas = libraries + "/bin/ptxas";
  setenv("TRITON_LIBCUDA_PATH", libraries.c_str(), 1);
  setenv("TRITON_PTXAS_PATH", ptxas.c_str(), 1);
  setenv("TRITON_PTXAS_BLACKWELL_PATH", ptxas.c_str(), 1);
  if (std::string found = ptxasOfTriton(call.command.front()); !found.empty())
    setDefault("TILEWRIGHT_PTXAS_FALLBACK", found);
  // Triton names what it compiled by the version of ptxas, which is that of the real one:
  // machine code of real runs and PTX of ours must not share a folder.
  const char *cache = std::getenv("TRITON_CACHE_DIR");
  const char *home = std::getenv("HOME");
  const std::string shared = cache && *cache ? cache : concat(home ? home : ".", "/.triton/cache");
  setenv("TRITON_CACHE_DIR", (shared + "-vgpu").c_str(), 1);
  return Status();
}

/// Removes the folder of summaries at the end.
struct TemporaryFolder {
  TemporaryFolder() {
    const char *base = std::getenv("TMPDIR");
    std::string pattern = concat(base && *base ? base : "/tmp", "/tilewright-vgpu-XXXXXX");
    if (mkdtemp(pattern.data()))
      path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path.empty())
      fs::remove_all(path, error);
  }
  std::string path;
};

static Result<int> runProgramOf(const Call &call) {
  const std::string libraries = fs::path(ownFolder()).parent_path().string() + "/lib/vgpu";
  if (!fs::exists(libraries + "/libcuda.so.1"))
    return Status(Error::vgpuStart, concat("there is no ", libraries,
                                           "/libcuda.so.1; build the target TilewrightVgpuCuda"));
  TemporaryFolder summaries;
  if (summaries.path.empty())
    return Status(Error::vgpuStart,
                  concat("cannot make a folder for summaries: ", std::strerror(errno)));
  TILEWRIGHT_TRY(setEnvironment(call, libraries, summaries.path));
  TILEWRIGHT_ASSIGN(Ended ended, runProgram(call.command));
  if (ended.signal)
    std::fprintf(stderr, "%s was ended by signal %d (%s)\n", call.command.front().c_str(),
                 ended.signal, strsignal(ended.signal));
  const Collected collected = collect(summaries.path);
  if (!call.isQuiet)
    std::fputs(collected.text.c_str(), stderr);
  // A test suite whose kernels race has not passed.
  return ended.exitCode == 0 && collected.hasFindings ? 1 : ended.exitCode;
}

int runCommand(std::span<const std::string_view> arguments) {
  constexpr int failed = 1, wrongUse = 2;
  const bool wantsHelp =
      std::find(arguments.begin(), std::find(arguments.begin(), arguments.end(), "--"), "--help") !=
      std::find(arguments.begin(), arguments.end(), "--");
  if (wantsHelp || arguments.empty() || arguments[0] == "help") {
    (wantsHelp || !arguments.empty() ? std::cout : std::cerr) << help();
    return arguments.empty() ? wrongUse : 0;
  }
  Status status;
  if (arguments[0] != "run") {
    status = Status(Error::vgpuCommand, concat("`tilewright vgpu` has no command '", arguments[0],
                                               "'; there is `run`"));
  } else {
    Result<Call> call = parse(arguments.subspan(1));
    Result<int> code =
        call.isOk() ? runProgramOf(*call) : Result<int>(std::move(call).takeStatus());
    if (code.isOk())
      return *code;
    status = std::move(code).takeStatus();
  }
  std::cerr << status.toString() << "\n";
  return status.error() == Error::vgpuStart ? failed : wrongUse;
}

} // namespace tilewright::vgpu::run
