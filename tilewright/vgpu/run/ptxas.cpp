// A replacement for ptxas with the interface that Triton uses: lets the real ptxas check the PTX,
// if it is installed, and then writes the PTX itself instead of machine code.
#include "tilewright/support/Concat.h"
#include "tilewright/support/store/WholeFile.h"
#include "tilewright/vgpu/run/Process.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::vgpu::run;

static std::string realPtxas(const std::string &own) {
  if (const char *path = std::getenv("TILEWRIGHT_PTXAS"); path && *path)
    return path;
  if (std::string found = findOnPath("ptxas", own); !found.empty())
    return found;
  for (const std::string path : {"/usr/local/cuda/bin/ptxas"})
    if (isExecutable(path))
      return path;
  const char *fallback = std::getenv("TILEWRIGHT_PTXAS_FALLBACK");
  return fallback && isExecutable(fallback) ? fallback : "";
}

namespace {
struct Request {
  std::vector<std::string> inputs;
  std::string output = "elf.o"; // the default output of ptxas
  bool isVerbose = false, isQuestion = false;
};
} // namespace

static Request read(const std::vector<std::string> &arguments) {
  // The ptxas options whose value is the next argument. For all others, Triton and nvcc use
  // `--name=value`.
  static constexpr const char *withValue[] = {
      "--gpu-name", "-arch", "--opt-level", "-O", "--maxrregcount",    "-maxrregcount",
      "--machine",  "-m",    "--entry",     "-e", "--input-as-string", "-ias"};
  Request request;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &one = arguments[i];
    const bool hasNext = i + 1 < arguments.size();
    if ((one == "-o" || one == "--output-file") && hasNext)
      request.output = arguments[++i];
    else if (one.rfind("--output-file=", 0) == 0 || one.rfind("-o=", 0) == 0)
      request.output = one.substr(one.find('=') + 1);
    else if (one == "-v" || one == "--verbose")
      request.isVerbose = true;
    else if (one == "-V" || one == "--version" || one == "-h" || one == "--help")
      request.isQuestion = true;
    else if (std::find(std::begin(withValue), std::end(withValue), one) != std::end(withValue))
      ++i;
    else if (one[0] != '-')
      request.inputs.push_back(one);
  }
  return request;
}

/// Converts "ptxas info : Compiling entry function 'x' …" and "Used 24 registers, …" to lines that
/// the module loader reads.
static std::string factsOf(const std::string &log) {
  std::string facts, kernel, spills = "0";
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (size_t at = line.find("entry function '"); at != std::string::npos) {
      const size_t begin = line.find('\'', at) + 1;
      kernel = line.substr(begin, line.find('\'', begin) - begin);
      spills = "0";
    } else if (size_t bytes = line.find(" bytes spill stores"); bytes != std::string::npos) {
      const size_t begin = line.find_last_of(" ,", bytes - 1) + 1;
      spills = line.substr(begin, bytes - begin);
    } else if (size_t used = line.find("Used "); used != std::string::npos && !kernel.empty()) {
      const std::string number = line.substr(used + 5, line.find(' ', used + 5) - used - 5);
      facts += concat("// ptxas: kernel ", kernel, " registers ", number, " spills ", spills, "\n");
      kernel.clear();
    }
  }
  return facts;
}

/// Whether `tilewright vgpu run --ptxas=0` skips the real ptxas. Queries, such as for the version,
/// still go to the real ptxas, because Triton chooses the PTX version accordingly.
static bool isSkipped() {
  const char *value = std::getenv("TILEWRIGHT_VGPU_PTXAS");
  return value && std::string_view(value) == "0";
}

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const Request request = read(arguments);
  std::error_code error;
  const std::string real =
      isSkipped() && !request.isQuestion ? std::string() : realPtxas("/proc/self/exe");
  std::string facts;
  if (real.empty()) {
    if (request.isQuestion) {
      std::cout
          << "ptxas: a stand-in for NVIDIA's ptxas, which is not installed; it checks nothing\n"
             "Cuda compilation tools, release 13.0, V13.0.0\n";
      return 0;
    }
  } else {
    std::vector<std::string> command = {real};
    command.insert(command.end(), arguments.begin(), arguments.end());
    if (!request.isVerbose && !request.isQuestion)
      command.emplace_back("-v");
    Result<Ended> ended = runProgram(command, /*takesErrorText=*/true);
    if (!ended.isOk()) {
      std::cerr << "ptxas: " << std::move(ended).takeStatus().toString() << "\n";
      return 1;
    }
    // Print the output of -v only if the caller asked for -v.
    std::istringstream lines(ended->errorText);
    for (std::string line; std::getline(lines, line);)
      if (request.isVerbose || line.find("ptxas info") == std::string::npos)
        std::cerr << line << "\n";
    if (ended->exitCode != 0 || request.isQuestion)
      return ended->exitCode;
    facts = factsOf(ended->errorText);
  }
  if (request.inputs.size() != 1) {
    std::cerr << "ptxas: expected one PTX file, got " << request.inputs.size() << "\n";
    return 1;
  }
  const std::optional<std::string> text = readWholeFile(request.inputs[0]);
  std::ofstream out(request.output, std::ios::binary);
  out << text.value_or("") << "\n" << facts;
  out.close();
  if (!text || !out) {
    std::cerr << "ptxas: cannot copy " << request.inputs[0] << " to " << request.output << "\n";
    return 1;
  }
  return 0;
}
