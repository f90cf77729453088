// Runs a kernel of a code object on the virtual GPU, for test_execute.py:
//
//   AmdgcnRun [--latest | --seed=N] OBJECT KERNEL GX,GY,GZ BX,BY,BZ LDS ARGUMENT…
//   AmdgcnRun --check[=FORMAT] …       also checks; prints the findings and returns 3 if there are
//   any AmdgcnRun --mutants=KIND,…[:FIRST/STEP] …   changes the kernel (Mutants.h) AmdgcnRun --load
//   OBJECT…          loads all kernels and prints how many there are
//
// An argument is `file:PATH` (a buffer with the bytes of the file, which are written back),
// `i32:N`, `i64:N`, `f32:X`, `f64:X`, or `null` (a pointer that is 0). Only the buffers may be
// accessed; without a buffer, all memory. Memory operations are performed when they are issued, or
// as late as waits allow, or at points that the seed chooses. Prints the error and returns 1 if the
// launch fails.
#include "Mutants.h"
#include "tilewright/vgpu/amdgcn/execute/Launch.h"
#include "tilewright/vgpu/check/Checker.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace tilewright;
using namespace tilewright::vgpu::amdgcn;

namespace {
struct Buffer {
  std::string path;
  std::vector<char> bytes;
};
} // namespace

static std::vector<char> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

static std::array<uint32_t, 3> readSizes(const std::string &text) {
  std::array<uint32_t, 3> sizes{1, 1, 1};
  std::istringstream stream(text);
  std::string word;
  for (uint32_t &size : sizes)
    if (std::getline(stream, word, ','))
      size = static_cast<uint32_t>(std::stoul(word));
  return sizes;
}

/// The bytes of an argument.
static std::string bytesOf(const std::string &kind, const std::string &text,
                           std::vector<std::unique_ptr<Buffer>> &buffers) {
  auto pack = [](auto value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof value);
  };
  if (kind == "file") {
    buffers.push_back(std::make_unique<Buffer>(text, readFile(text)));
    return pack(buffers.back()->bytes.data());
  }
  if (kind == "i32")
    return pack(static_cast<int32_t>(std::stoll(text)));
  if (kind == "f32")
    return pack(std::stof(text));
  if (kind == "f64")
    return pack(std::stod(text));
  return pack(static_cast<int64_t>(kind == "null" ? 0 : std::stoll(text)));
}

namespace {
struct Wanted {
  std::string check, mutants; // the values of the options
};
} // namespace

/// Removes the options at the beginning and sets what they say.
static Wanted takeOptions(std::vector<std::string> &words, LaunchConfig &config) {
  Wanted wanted;
  for (; !words.empty() && words[0].starts_with("--"); words.erase(words.begin())) {
    if (words[0] == "--latest")
      config.completion = Completion::latest;
    else if (words[0].starts_with("--seed="))
      config.completion = Completion::seeded, config.seed = std::stoull(words[0].substr(7));
    else if (words[0].starts_with("--check"))
      wanted.check = words[0].substr(std::min<size_t>(words[0].size(), 8)) + " ";
    else if (words[0].starts_with("--mutants="))
      wanted.mutants = words[0].substr(10);
  }
  return wanted;
}

/// "waitcnt,nop:3/10": these kinds, every tenth from the third on.
static Status mutate(Case &original, const std::string &text) {
  const size_t colon = std::min(text.find(':'), text.size());
  std::vector<std::string> kinds;
  std::istringstream stream(text.substr(0, colon));
  for (std::string kind; std::getline(stream, kind, ',');)
    kinds.push_back(kind);
  size_t first = 0, step = 1;
  if (colon < text.size())
    std::sscanf(text.c_str() + colon, ":%zu/%zu", &first, &step);
  return runMutants(original, kinds, first, step);
}

/// Prints the findings. Returns whether there are any.
static bool printFindings(const vgpu::check::Report &report, const std::string &format) {
  if (!report.isEmpty())
    std::fputs((format == "json " ? report.json() : report.text()).c_str(), stdout);
  return !report.isEmpty();
}

static Status run(std::vector<std::string> words, bool &hasFindings) {
  LaunchConfig config;
  const Wanted wanted = takeOptions(words, config);
  const std::vector<char> file = readFile(words[0]);
  TILEWRIGHT_ASSIGN(auto object, LoadedObject::load(std::as_bytes(std::span(file))));
  config.grid = readSizes(words[2]);
  config.block = readSizes(words[3]);
  config.dynamicLdsBytes = static_cast<uint32_t>(std::stoul(words[4]));
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::string arguments;
  for (size_t i = 5; i < words.size(); ++i) {
    const size_t colon = std::min(words[i].find(':'), words[i].size());
    const std::string bytes = bytesOf(
        words[i].substr(0, colon), words[i].substr(std::min(colon + 1, words[i].size())), buffers);
    arguments.resize((arguments.size() + bytes.size() - 1) / bytes.size() * bytes.size());
    arguments += bytes;
  }
  for (const auto &buffer : buffers) {
    const uint64_t begin = reinterpret_cast<uint64_t>(buffer->bytes.data());
    config.memory.push_back({begin, begin + buffer->bytes.size()});
  }
  if (!wanted.mutants.empty()) {
    const auto bytes = std::as_bytes(std::span(arguments));
    Case original = {file, words[1], config, {bytes.begin(), bytes.end()}, {}};
    for (const auto &buffer : buffers)
      original.buffers.emplace_back(buffer->bytes);
    return mutate(original, wanted.mutants);
  }
  vgpu::check::Checker checker(*vgpu::check::Options::parse("all"));
  if (!wanted.check.empty())
    config.observer = &checker;
  Status status = launch(*object, words[1], config, std::as_bytes(std::span(arguments)));
  hasFindings = printFindings(checker.report(), wanted.check);
  TILEWRIGHT_TRY(std::move(status));
  for (const auto &buffer : buffers)
    std::ofstream(buffer->path, std::ios::binary)
        .write(buffer->bytes.data(), static_cast<std::streamsize>(buffer->bytes.size()));
  return Status();
}

/// Loads all kernels of the objects. Prints each kernel that is refused.
static int loadAll(std::span<const std::string> paths) {
  size_t loaded = 0, refused = 0;
  for (const std::string &path : paths) {
    const std::vector<char> file = readFile(path);
    auto object = LoadedObject::load(std::as_bytes(std::span(file)));
    if (!object.isOk()) {
      ++refused;
      std::fprintf(stderr, "%s: %s\n", path.c_str(),
                   std::move(object).takeStatus().toString().c_str());
      continue;
    }
    for (const Kernel &kernel : (*object)->object().kernels) {
      auto program = (*object)->program(kernel.name);
      program.isOk() ? ++loaded : ++refused;
      if (!program.isOk())
        std::fprintf(stderr, "%s: %s\n", path.c_str(),
                     std::move(program).takeStatus().toString().c_str());
    }
  }
  std::printf("%zu kernels loaded, %zu refused\n", loaded, refused);
  return refused == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() > 1 && words[0] == "--load")
    return loadAll(std::span(words).subspan(1));
  if (words.size() < 5) {
    std::fputs("usage: AmdgcnRun OBJECT KERNEL GRID BLOCK LDS ARGUMENT…\n", stderr);
    return 2;
  }
  bool hasFindings = false;
  const Status status = run(words, hasFindings);
  if (status.isOk())
    return hasFindings ? 3 : 0;
  std::fprintf(stderr, "%s\n", status.toString().c_str());
  return 1;
}
