#include "tilewright/vgpu/run/Run.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Settings.h"
#include "tilewright/vgpu/driver/observe/ObservationKinds.h"
#include "tilewright/vgpu/run/Collect.h"
#include "tilewright/vgpu/run/DisassembleCommand.h"
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
  bool isQuiet = false, allowsFailures = false;
};
} // namespace

static std::string help() {
  std::string text =
      "tilewright vgpu run: runs a program with the virtual GPU in place of a physical "
      "one\n\nusage: tilewright vgpu run [FLAGS] -- PROGRAM [ARGUMENTS]\n\n";
  auto row = [&](std::string left, std::string_view right) {
    left.resize(std::max<size_t>(left.size() + 1, 30), ' ');
    text += concat(left, right, "\n");
  };
  for (const driver::Setting &setting : driver::settingTable())
    if (!setting.flag.empty())
      row(concat("  --", setting.flag, "=", setting.value), setting.summary);
  row("  --allow-failures",
      "do not exit with code 3 if a launch fails, for tests that cause failures on purpose");
  row("  --quiet", "print no summary at the end");
  if (!driver::observationKinds().empty()) {
    text += "\nchecks:\n";
    for (const driver::ObservationKind &kind : driver::observationKinds())
      row(concat("  ", kind.name), kind.summary);
  }
  text +=
      "\nThe program loads our libcuda.so.1, or libamdhip64.so.7 for AMD's chips. Triton runs our "
      "ptxas, which passes the PTX on after "
      "the "
      "real\nptxas has checked it, if one is installed (TILEWRIGHT_PTXAS, PATH, "
      "/usr/local/cuda/bin, or Triton's).\nIn Python programs, torch tensors on 'cuda' are in the "
      "memory of the virtual device, and pytest\nfails the test that caused a finding. JAX "
      "programs run on the virtual GPU through the plugin, unless\nTILEWRIGHT_TARGET names another "
      "machine.\n"
      "\n`tilewright vgpu disassemble` prints the machine code of AMD code objects; it has its own "
      "--help.\n"
      "\nexit code: that of the program if it is not 0; otherwise\n"
      "  0  all launches ended and the checks found nothing\n"
      "  1  a check found something, or the program could not be started\n"
      "  2  wrong usage of `tilewright vgpu`\n"
      "  3  a launch failed (or was stopped), whether the program noticed or not\n"
      "  128 + N  signal N terminated the program\n";
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
    if (arguments[i] == "--allow-failures") {
      call.allowsFailures = true;
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
    std::string_view value = equals == std::string_view::npos ? "" : body.substr(equals + 1);
    if (equals == std::string_view::npos) {
      if (i + 1 >= arguments.size() || arguments[i + 1].substr(0, 2) == "--")
        return Status(Error::vgpuCommand,
                      concat("--", name, " needs a value: --", name, "=", found->value));
      value = arguments[++i];
    }
    call.settings.emplace_back(found->variable, value);
  }
  for (; i < arguments.size(); ++i)
    call.command.emplace_back(arguments[i]);
  if (call.command.empty())
    return Status(Error::vgpuCommand, "`tilewright vgpu run` needs a program to run, as in "
                                      "`tilewright vgpu run -- python kernel.py`");
  return call;
}

static constexpr std::string_view cudaLibrary = "libcuda.so.1", hipLibrary = "libamdhip64.so.7";

static void setDefault(const char *variable, const std::string &value) {
  setenv(variable, value.c_str(), /*overwrite=*/0);
}

static void prepend(const char *variable, const std::string &folder) {
  const char *now = std::getenv(variable);
  setenv(variable, now && *now ? concat(folder, ":", now).c_str() : folder.c_str(), 1);
}

/// The ptxas that Triton has installed in the Python that `program` or PATH refers to; empty if
/// there is none.
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

/// The folder that makes Python programs load python/tilewright/vgpu: beside the libraries in a
/// build tree, otherwise in the package of the wheel; empty if there is none.
static std::string pythonFolder(const std::string &libraries) {
  for (const char *place : {"/python/inject", "/../../../vgpu/inject"}) {
    std::error_code error;
    const fs::path folder = fs::path(libraries + place).lexically_normal();
    if (fs::exists(folder / "sitecustomize.py", error))
      return folder.string();
  }
  return "";
}

static void setNvidia(const std::string &libraries, const driver::Settings &settings) {
  // Select the virtual GPU for JAX programs that use our plugin.
  setDefault("TILEWRIGHT_TARGET", concat("vgpu:", settings.chips.front()->name));
  const std::string ptxas = libraries + "/bin/ptxas";
  setenv("TRITON_LIBCUDA_PATH", libraries.c_str(), 1);
  setenv("TRITON_PTXAS_PATH", ptxas.c_str(), 1);
  setenv("TRITON_PTXAS_BLACKWELL_PATH", ptxas.c_str(), 1);
  // If torch is installed, Triton would otherwise ask torch for the available GPUs.
  setDefault("TRITON_DEFAULT_BACKEND", "nvidia");
}

static void setAmd(const std::string &libraries) {
  setenv("TRITON_LIBHIP_PATH", concat(libraries, "/", hipLibrary).c_str(), 1);
  setDefault("TRITON_DEFAULT_BACKEND", "amd");
}

static Status setEnvironment(const Call &call, const std::string &libraries,
                             const std::string &summaries) {
  for (const auto &[variable, value] : call.settings)
    setenv(variable.c_str(), value.c_str(), 1);
  // Report an invalid value here; otherwise the program would only report "no CUDA device".
  TILEWRIGHT_ASSIGN(driver::Settings settings, driver::Settings::fromEnvironment());
  TILEWRIGHT_TRY(driver::checkObservationNames(settings.checks));
  setenv("TILEWRIGHT_VGPU_SUMMARY", summaries.c_str(), 1);
  prepend("LD_LIBRARY_PATH", libraries);
  if (settings.vendor() == driver::Vendor::amd)
    setAmd(libraries);
  else
    setNvidia(libraries, settings);
  if (std::string python = pythonFolder(libraries); !python.empty())
    prepend("PYTHONPATH", python);
  if (std::string found = ptxasOfTriton(call.command.front()); !found.empty())
    setDefault("TILEWRIGHT_PTXAS_FALLBACK", found);
  // Triton's cache keys contain the version of ptxas, and our ptxas reports the version of the real
  // one. So machine code for physical GPUs and PTX for the virtual GPU need separate folders.
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
  for (const std::string_view library : {cudaLibrary, hipLibrary})
    if (!fs::exists(concat(libraries, "/", library)))
      return Status(Error::vgpuStart,
                    concat(libraries, "/", library,
                           " does not exist; install tilewright again, or in a checkout build the "
                           "targets TilewrightVgpuCuda and TilewrightVgpuHip"));
  TemporaryFolder summaries;
  if (summaries.path.empty())
    return Status(Error::vgpuStart,
                  concat("cannot create a folder for summaries: ", std::strerror(errno)));
  TILEWRIGHT_TRY(setEnvironment(call, libraries, summaries.path));
  TILEWRIGHT_ASSIGN(Ended ended, runProgram(call.command));
  if (ended.signal)
    std::fprintf(stderr, "%s was terminated by signal %d (%s)\n", call.command.front().c_str(),
                 ended.signal, strsignal(ended.signal));
  const Collected collected = collect(summaries.path);
  if (!call.isQuiet)
    std::fputs(collected.text.c_str(), stderr);
  // A test suite with races in its kernels, or with launches that fail without an exception, has
  // not passed.
  constexpr int found = 1, launchFailed = 3;
  if (ended.exitCode != 0)
    return ended.exitCode;
  if (collected.hasFindings)
    return found;
  return collected.hasFailures && !call.allowsFailures ? launchFailed : 0;
}

int runCommand(std::span<const std::string_view> arguments) {
  constexpr int failed = 1, wrongUse = 2;
  const bool wantsHelp =
      std::find(arguments.begin(), std::find(arguments.begin(), arguments.end(), "--"), "--help") !=
      std::find(arguments.begin(), arguments.end(), "--");
  const bool disassembles = !arguments.empty() && arguments[0] == "disassemble";
  if (wantsHelp && disassembles) {
    std::cout << disassembleHelp();
    return 0;
  }
  if (wantsHelp || arguments.empty() || arguments[0] == "help") {
    (wantsHelp || !arguments.empty() ? std::cout : std::cerr) << help();
    return arguments.empty() ? wrongUse : 0;
  }
  auto execute = [&]() -> Result<int> {
    if (disassembles)
      return disassembleCommand(arguments.subspan(1));
    if (arguments[0] != "run")
      return Status(Error::vgpuCommand, concat("`tilewright vgpu` has no command '", arguments[0],
                                               "'; the commands are `run` and `disassemble`"));
    TILEWRIGHT_ASSIGN(const Call call, parse(arguments.subspan(1)));
    return runProgramOf(call);
  };
  Result<int> code = execute();
  if (code.isOk())
    return *code;
  const Status status = std::move(code).takeStatus();
  std::cerr << status.toString() << "\n";
  return status.error() == Error::vgpuStart ? failed : wrongUse;
}

} // namespace tilewright::vgpu::run
