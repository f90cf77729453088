// Kernels made from rows of the instruction table, one instruction each, and a record of the rows
// that were executed and compared with a reference.
#ifndef TEST_VGPU_FORMS_FORMKERNEL_H
#define TEST_VGPU_FORMS_FORMKERNEL_H

#include "tilewright/vgpu/machine/Launch.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tilewright::vgpu::forms {

using ptx::Handler;
using ptx::Instruction;
using ptx::InstructionRow;
using ptx::Modifier;
using ptx::ModifierKind;

/// One combination of a row's modifiers.
struct Form {
  const InstructionRow *row = nullptr;
  Instruction instruction; // its row and modifiers; no operands
  /// "add.rn.f32".
  std::string name() const;
};

/// Up to `most` combinations of a row's modifiers that producers may write; all of them if there
/// are not more.
std::vector<Form> formsOf(const InstructionRow &row, size_t most, std::mt19937_64 &random);

/// The rows that were covered. A row counts once an instruction of it was executed in a launch with
/// only expected results.
class Coverage {
public:
  /// Counts the rows of all instructions of `kernel` and of the functions of its module.
  void addModule(const ptx::Module &module, std::string_view kernel);
  void add(std::string_view row) {
    ++rows[std::string(row)];
    if (isThroughNvcc)
      nvccRows.insert(std::string(row));
  }
  size_t of(std::string_view row) const {
    auto found = rows.find(std::string(row));
    return found == rows.end() ? 0 : found->second;
  }
  bool isByNvcc(std::string_view row) const { return nvccRows.count(std::string(row)) != 0; }

  bool isThroughNvcc = false; // whether nvcc compiled the code that runs now

private:
  std::map<std::string, size_t> rows;
  std::set<std::string> nvccRows;
};

/// The same kernels as CUDA C++: the PTX text becomes inline PTX in a kernel's body. nvcc compiles
/// them, and its output is run instead of the text.
class CudaKernels {
public:
  /// Keeps the text for write(), if it can be the body of a function, without module-level
  /// variables and functions. Keeps a few texts for each row.
  void collect(std::string_view row, const std::string &text);
  void write(const std::string &path) const;
  /// Reads the PTX that nvcc made.
  void read(const std::string &path);
  /// The name of the kernel for a text, if there is one.
  std::string nameOf(const std::string &text) const;
  std::shared_ptr<machine::LoadedModule> module;

private:
  std::map<std::string, std::string> kernels; // name to text
  std::map<std::string, size_t> counts;       // by row
  std::set<std::string> compiled;
};

/// State that all subjects share: failures and coverage.
struct Session {
  CudaKernels cuda;
  bool collectsCuda = false;
  std::string kernel = "k"; // the name of the kernel that was loaded last
  Coverage coverage;
  std::mt19937_64 random{20260731};
  size_t perRow = 64;  // how many forms of a row are tried
  size_t forms = 0;    // tried
  size_t values = 0;   // compared
  size_t failures = 0; // failed forms
  std::set<std::string> failedRows;
  /// Records why a form failed; prints the first few of each row.
  void fail(const Form &form, const std::string &why);
  void fail(std::string_view row, const std::string &why);

private:
  std::map<std::string, size_t> told;
};

/// Loads a module for a chip; a failure counts as a failure of `form`.
std::shared_ptr<machine::LoadedModule> load(Session &session, const Form &form,
                                            const std::string &text);
/// Launches the kernel that was loaded last, with asynchronous copies completing in one of the
/// orders that PTX allows. If that fails, records it and returns false.
bool launch(Session &session, const Form &form, machine::LoadedModule &module,
            const machine::LaunchConfig &config, std::span<const void *const> arguments);
/// Loads and launches a kernel of one block with the parameters `in` and `out`, and counts the
/// form. If that fails, records it and returns false.
bool run(Session &session, const Form &form, const std::string &text, const void *in, void *out,
         unsigned threads = 32);
/// Loads and launches a kernel with one parameter, a pointer to as many words as are expected, and
/// compares them and the memory behind them.
void runWords(Session &session, const Form &form, const std::string &text,
              const std::vector<uint32_t> &expected, const machine::LaunchConfig &config);

/// "b16", "b32", "b64" or "b128": the register size for a type. Registers are named by letter: %h,
/// %r, %d, %q; %p for predicates.
unsigned registerBits(Modifier type);
std::string registerName(unsigned bits, unsigned number);
/// Declares enough registers of all kinds.
std::string registerDeclarations();
std::string moduleHead();
/// The registers `first`, `first` + 1, ... as an operand: "{%r2, %r3}", or without braces if there
/// is one.
std::string vectorText(unsigned bits, unsigned first, unsigned count);
/// The start of kernel "k", whose thread %i has the address %a1 of its own word; after module-level
/// text and with declarations of shared memory.
std::string threadHead(const std::string &module = "", const std::string &shared = "");

// The subjects.
void runArithmetic(Session &session);
void runMemory(Session &session);
void runAtomics(Session &session);
void runWarp(Session &session);
void runMatrix(Session &session);
void runWmma(Session &session);
void runWgmma(Session &session);
void runBarriers(Session &session);
void runAsync(Session &session);
void runControl(Session &session);

} // namespace tilewright::vgpu::forms

#endif // TEST_VGPU_FORMS_FORMKERNEL_H
