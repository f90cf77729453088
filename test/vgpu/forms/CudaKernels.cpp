#include "test/vgpu/forms/FormKernel.h"

#include "tilewright/support/Concat.h"

#include <fstream>
#include <iostream>
#include <sstream>

namespace tilewright::vgpu::forms {

/// A name that is the same in the run that writes the kernels and in the one that reads them.
static std::string hashName(const std::string &text) {
  uint64_t hash = 1469598103934665603u; // FNV-1a
  for (char c : text)
    hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  std::ostringstream name;
  name << "k_" << std::hex << hash;
  return name.str();
}

static constexpr std::string_view entry = ".visible .entry k(";

void CudaKernels::collect(std::string_view row, const std::string &text) {
  // Inline PTX becomes a function's body, so the module must have nothing but the kernel.
  if (text.compare(moduleHead().size(), entry.size(), entry) != 0)
    return;
  // The ptxas of CUDA 13.0 crashes on an atom.add.noftz without a result, and nvcc with it.
  if (text.find("noftz") != text.npos && text.find(" _, [") != text.npos)
    return;
  constexpr size_t most = 4;
  if (size_t &count = counts[std::string(row)]; count < most) {
    ++count;
    kernels[hashName(text)] = text;
  }
}

/// Replaces the name of a parameter where it is a whole word, but not in ::bytes.
static void rename(std::string &body, const std::string &from, const std::string &to) {
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':';
  };
  for (size_t at = body.find(from); at != body.npos; at = body.find(from, at)) {
    const size_t end = at + from.size();
    if ((at > 0 && isWord(body[at - 1])) || (end < body.size() && isWord(body[end]))) {
      at = end;
      continue;
    }
    body.replace(at, from.size(), to);
    at += to.size();
  }
}

/// One kernel as CUDA C++.
static std::string cudaOf(const std::string &name, const std::string &text) {
  const size_t begin = moduleHead().size() + entry.size();
  const size_t close = text.find(')', begin), open = text.find('{', close);
  std::string body = text.substr(open + 1, text.rfind('}') - open - 1);
  // Parameters: ".param .u64 pin" or ".param .align 16 .b8 bytes[64]".
  std::string parameters;
  std::istringstream list(text.substr(begin, close - begin));
  std::string one;
  for (unsigned i = 0; std::getline(list, one, ','); ++i) {
    const bool isStruct = one.find('[') != one.npos;
    std::string word = one.substr(one.rfind(' ') + 1);
    word = word.substr(0, word.find('['));
    rename(body, word, concat(name, "_param_", i));
    parameters += concat(i ? ", " : "",
                         isStruct ? one.find("64 .b8") != one.npos ? "Map " : "Bytes "
                                  : "unsigned long long ",
                         "p", i);
  }
  const std::string attributes = text.substr(close, open - close);
  std::string result = "extern \"C\" __global__ void ";
  if (attributes.find(".reqnctapercluster 4") != attributes.npos)
    result += "__cluster_dims__(4, 1, 1) ";
  if (attributes.find(".maxntid 128") != attributes.npos)
    result += "__launch_bounds__(128) ";
  result += concat(name, "(", parameters, ") {\n  asm volatile(\"{\\n\"\n");
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    std::string escaped;
    for (char c : line)
      escaped += c == '%' ? "%%" : std::string(1, c);
    result += "    \"" + escaped + "\\n\"\n";
  }
  return result + "    \"}\" :: \"l\"(p0) : \"memory\");\n}\n";
}

void CudaKernels::write(const std::string &path) const {
  std::ofstream out(path);
  out << "// Written by VgpuForms --write-cuda: forms of the instruction table as inline PTX.\n"
         "struct __align__(64) Map { char bytes[128]; };\n"
         "struct __align__(16) Bytes { char bytes[64]; };\n";
  for (const auto &[name, text] : kernels)
    out << cudaOf(name, text);
}

void CudaKernels::read(const std::string &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  Result<std::unique_ptr<machine::LoadedModule>> loaded =
      machine::LoadedModule::create(text.str(), "sm_90a");
  if (!loaded.isOk()) {
    std::cerr << path << ": " << std::move(loaded).takeStatus().toString() << "\n";
    std::exit(1);
  }
  module = *std::move(loaded);
  for (const ptx::Function &function : module->source().functions)
    if (function.entry)
      compiled.insert(std::string(module->source().name(function.name)));
}

std::string CudaKernels::nameOf(const std::string &text) const {
  if (!module)
    return {};
  std::string name = hashName(text);
  return compiled.count(name) ? name : std::string();
}

} // namespace tilewright::vgpu::forms
