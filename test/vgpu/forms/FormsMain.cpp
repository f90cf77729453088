// Executes forms of every row of the instruction table and compares with references.
//
//   VgpuForms [--per-row N] [--rows] [--write-cuda FILE | --read-cuda FILE] [SUBJECT…]
//
// Prints the coverage; --rows lists every row. --write-cuda writes the kernels of the run as CUDA
// C++; --read-cuda takes the PTX that nvcc made of them and runs it instead (with the same
// --per-row). The exit status is 1 if a form fails, or, if all subjects ran, if a row that the
// virtual GPU executes was not covered.
#include "test/vgpu/forms/TensorKernel.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>

using namespace tilewright::vgpu;
using namespace tilewright::vgpu::forms;

int main(int argc, char **argv) {
  struct Subject {
    const char *name;
    void (*run)(Session &);
  };
  const Subject subjects[] = {{"arithmetic", runArithmetic},
                              {"memory", runMemory},
                              {"atomics", runAtomics},
                              {"warp", runWarp},
                              {"barriers", runBarriers},
                              {"control", runControl},
                              {"async", runAsync},
                              {"matrix", runMatrix},
                              {"wmma", runWmma},
                              {"wgmma", runWgmma},
                              {"tensor", runTensor},
                              {"products", runTensorProducts}};
  Session session;
  bool listsRows = false;
  std::set<std::string> chosen;
  std::string written;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--per-row") == 0 && i + 1 < argc)
      session.perRow = std::strtoul(argv[++i], nullptr, 10);
    else if (std::strcmp(argv[i], "--write-cuda") == 0 && i + 1 < argc) {
      session.collectsCuda = true;
      written = argv[++i];
    } else if (std::strcmp(argv[i], "--read-cuda") == 0 && i + 1 < argc)
      session.cuda.read(argv[++i]);
    else if (std::strcmp(argv[i], "--rows") == 0)
      listsRows = true;
    else
      chosen.insert(argv[i]);
  }
  for (const Subject &subject : subjects) {
    if (!chosen.empty() && !chosen.count(subject.name))
      continue;
    const auto begin = std::chrono::steady_clock::now();
    const size_t forms = session.forms, values = session.values, failures = session.failures;
    subject.run(session);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::cout << subject.name << ": " << session.forms - forms << " forms, "
              << session.values - values << " values, " << session.failures - failures
              << " failed, " << seconds << " s" << std::endl;
  }
  if (!written.empty())
    session.cuda.write(written);
  size_t covered = 0, byNvcc = 0, forNvcc = 0;
  std::string missing, notByNvcc;
  for (const ptx::InstructionRow &row : ptx::instructionTable()) {
    const size_t times = session.coverage.of(row.name);
    covered += times > 0;
    byNvcc += session.coverage.isByNvcc(row.name);
    const bool isForHopper = row.requirement.isMetBy({.architecture = 90, .suffix = 'a'});
    forNvcc += isForHopper;
    if (isForHopper && !session.coverage.isByNvcc(row.name))
      notByNvcc += " " + std::string(row.name);
    if (times == 0)
      missing += " " + std::string(row.name);
    if (listsRows)
      std::cout << row.name << '\t' << times << '\n';
  }
  const size_t rows = ptx::instructionTable().size();
  std::cout << "rows executed: " << covered << " of " << rows << "\n";
  if (session.cuda.module)
    std::cout << "rows executed as nvcc compiled them: " << byNvcc << " of " << forNvcc
              << "\nnot by nvcc:" << notByNvcc << "\n";
  if (chosen.empty() && !missing.empty())
    std::cout << "not covered:" << missing << "\n";
  return session.failures != 0 || (chosen.empty() && covered < rows);
}
