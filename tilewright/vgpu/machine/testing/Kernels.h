// Shared by the tests of the machine: kernels as text, from files and generated.
#ifndef TILEWRIGHT_VGPU_MACHINE_TESTING_KERNELS_H
#define TILEWRIGHT_VGPU_MACHINE_TESTING_KERNELS_H

#include "tilewright/vgpu/machine/Launch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace tilewright::vgpu::machine {

/// The text of a file in the folder of the tests.
inline std::string kernelText(const std::string &file) {
  std::ifstream in(std::string(TILEWRIGHT_SOURCE_DIR) +
                   "/tilewright/vgpu/machine/testing/kernels/" + file);
  EXPECT_TRUE(in.good()) << file;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::unique_ptr<LoadedModule> loadText(const std::string &text,
                                              std::string_view chip = "sm_90a") {
  Result<std::unique_ptr<LoadedModule>> module = LoadedModule::create(text, chip);
  if (!module.isOk()) {
    ADD_FAILURE() << std::move(module).takeStatus().toString() << "\n" << text;
    return nullptr;
  }
  return *std::move(module);
}

/// Launches with values as arguments: run(*module, "k", config, pointer, 3).
template <typename... Values>
Status run(LoadedModule &module, std::string_view name, const LaunchConfig &config,
           const Values &...values) {
  const void *arguments[] = {&values..., nullptr};
  return launch(module, name, config, std::span(arguments, sizeof...(values)));
}

/// `config` in every order of completion, with 20 seeds.
inline std::vector<LaunchConfig> ordersOf(LaunchConfig config) {
  std::vector<LaunchConfig> orders;
  for (Completion completion : {Completion::eager, Completion::latest, Completion::seeded}) {
    config.completion = completion;
    config.seed = 0;
    orders.push_back(config);
  }
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    config.seed = seed;
    // Every order of completion gets some of the seeds.
    config.completion = seed % 5 == 0   ? Completion::eager
                        : seed % 5 == 1 ? Completion::latest
                                        : Completion::seeded;
    orders.push_back(config);
  }
  return orders;
}
inline std::string describeOrder(const LaunchConfig &config) {
  return " completion " + std::to_string(static_cast<int>(config.completion)) + " seed " +
         std::to_string(config.seed);
}

/// Runs `body` for each element. It reads %a, %b, %c of `in` and writes %d of `out`; the types are
/// those of registers: "b32", "f64". `body` may use registers %p0 to %p7, %x0 … (b32), %h0 … (b16),
/// %y0 … (b64).
template <typename In, typename Out>
std::vector<Out> evaluate(const std::string &in, const std::string &out, const std::string &body,
                          const std::vector<In> &a, const std::vector<In> &b = {},
                          const std::vector<In> &c = {}, std::string_view target = "sm_90a",
                          std::string_view chip = "sm_90a") {
  std::ostringstream text;
  auto memoryType = [](const std::string &type) { return type == "f16" ? "b16" : type; };
  text << ".version 8.8\n.target " << target << "\n.address_size 64\n"
       << ".visible .entry k(.param .u64 po, .param .u64 pa, .param .u64 pb, .param .u64 pc, "
          ".param .u32 pn) {\n"
       << ".reg ." << in << " %a, %b, %c;\n.reg ." << out << " %d;\n"
       << ".reg .pred %p<8>, %q;\n.reg .b16 %h<8>;\n.reg .b32 %x<8>, %i, %n, %t, %s;\n"
       << ".reg .b64 %y<8>, %o, %pa, %pb, %pc, %w;\n"
       << "ld.param.u32 %n, [pn];\nmov.u32 %t, %tid.x;\nmov.u32 %s, %ctaid.x;\n"
       << "mad.lo.u32 %i, %s, 64, %t;\nsetp.ge.u32 %q, %i, %n;\n@%q exit;\n";
  for (const char *name : {"a", "b", "c"})
    text << "ld.param.u64 %p" << name << ", [p" << name << "];\nmul.wide.u32 %w, %i, " << sizeof(In)
         << ";\nadd.u64 %w, %w, %p" << name << ";\nld.global." << memoryType(in) << " %" << name
         << ", [%w];\n";
  text << body << "\nld.param.u64 %o, [po];\nmul.wide.u32 %w, %i, " << sizeof(Out)
       << ";\nadd.u64 %w, %w, %o;\nst.global." << memoryType(out) << " [%w], %d;\nret;\n}\n";
  std::unique_ptr<LoadedModule> module = loadText(text.str(), chip);
  std::vector<Out> result(a.size());
  if (!module)
    return result;
  const In *pa = a.data(), *pb = b.empty() ? pa : b.data(), *pc = c.empty() ? pa : c.data();
  Out *po = result.data();
  const auto n = static_cast<uint32_t>(a.size());
  LaunchConfig config{.grid = {(n + 63) / 64, 1, 1}, .block = {64, 1, 1}};
  Status status = run(*module, "k", config, po, pa, pb, pc, n);
  EXPECT_TRUE(status.isOk()) << status.toString();
  // Every instruction set of the host must give the same bits.
  for (std::string_view set : {"v3", "v4"}) {
    if (!handlersFor(set))
      continue;
    std::vector<Out> other(a.size());
    Out *pother = other.data();
    config.instructionSet = set;
    status = run(*module, "k", config, pother, pa, pb, pc, n);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_EQ(other, result) << set << ": " << body;
  }
  return result;
}

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TESTING_KERNELS_H
