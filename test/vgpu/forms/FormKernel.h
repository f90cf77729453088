// Kernels made from rows of the instruction table, one instruction each, and the
// record of which rows were executed and compared with a reference.
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
using ptx::Modifier;
using ptx::ModifierKind;
using ptx::Row;

/// One combination of a row's words.
struct Form {
  const Row *row = nullptr;
  Instruction instruction; // its row and modifiers; no operands
  /// "add.rn.f32".
  std::string name() const;
};

/// Up to `most` combinations of a row's words that producers may write; all of them
/// if there are not more.
std::vector<Form> formsOf(const Row &row, size_t most, std::mt19937_64 &random);

/// What has been run. A row counts once an instruction of it was executed in a launch
/// whose results were all as expected.
class Coverage {
public:
  /// Counts the rows of every instruction that `kernel` can reach in a module.
  void addModule(const ptx::Module &module);
  void add(std::string_view row) { ++rows[std::string(row)]; }
  size_t of(std::string_view row) const {
    auto found = rows.find(std::string(row));
    return found == rows.end() ? 0 : found->second;
  }

private:
  std::map<std::string, size_t> rows;
};

/// What all subjects share: who failed, what was covered.
struct Session {
  Coverage coverage;
  std::mt19937_64 random{20260731};
  size_t perRow = 64;  // forms of a row that are tried
  size_t forms = 0;    // tried
  size_t values = 0;   // compared
  size_t failures = 0; // forms
  std::set<std::string> failedRows;
  /// Says why a form failed; the first few of a row are printed.
  void fail(const Form &form, const std::string &why);
  void fail(std::string_view row, const std::string &why);

private:
  std::map<std::string, size_t> told;
};

/// Loads a module for a chip; a failure is told as that of `form`.
std::unique_ptr<machine::LoadedModule> load(Session &session, const Form &form,
                                            const std::string &text);
/// Launches kernel "k"; false, told, if it fails.
bool launch(Session &session, const Form &form, machine::LoadedModule &module,
            const machine::LaunchConfig &config, std::span<const void *const> arguments);

/// "b16", "b32", "b64" or "b128": the register for a type, and its letter as registers
/// are named here: %h, %r, %d, %q; %p for predicates.
unsigned registerBits(Modifier type);
std::string registerName(unsigned bits, unsigned number);
/// Declares enough of all registers.
std::string registerDeclarations();
std::string moduleHead();

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
