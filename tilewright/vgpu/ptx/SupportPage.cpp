#include "tilewright/vgpu/ptx/SupportPage.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"

#include <map>
#include <vector>

namespace tilewright::vgpu::ptx {

namespace {

/// A row in the grammar notation of the PTX documentation: "ld{.weak}{.global|.shared}.u32". In a
/// Markdown table the bar must be escaped.
std::string syntaxOf(const InstructionRow &row) {
  std::string text(row.opcode);
  for (const ModifierSlot &slot : row.slots) {
    text += slot.optional ? "{" : slot.words.size() > 1 ? "(" : "";
    if (slot.words.size() > 20 && isShape(slot.words[0])) {
      text += concat(".", spellingOf(slot.words.front()), " … .", spellingOf(slot.words.back()));
    } else {
      for (size_t i = 0; i < slot.words.size(); ++i)
        text += concat(i ? "\\|" : "", ".", spellingOf(slot.words[i]));
    }
    text += slot.optional ? "}" : slot.words.size() > 1 ? ")" : "";
  }
  return text;
}

std::string operandsOf(const InstructionRow &row) {
  std::string text;
  for (const OperandRule &rule : row.operands) {
    std::string name = rule.name;
    if (rule.form == OperandForm::address || rule.form == OperandForm::tensor)
      name = concat("[", name, rule.form == OperandForm::tensor ? ", {…}]" : "]");
    if (rule.second)
      name += rule.secondNeeded ? "\\|p" : "{\\|p}";
    bool optional = rule.optional || rule.condition != Modifier::none;
    text += optional ? concat("{, ", name, "}") : text.empty() ? name : concat(", ", name);
  }
  return text;
}

} // namespace

std::string supportPage() {
  std::string page =
      "# The PTX that the virtual GPU reads\n\n"
      "Made from [`Instructions.def`](../../tilewright/vgpu/ptx/Instructions.def) and\n"
      "[`Refused.def`](../../tilewright/vgpu/ptx/Refused.def) by `PtxProbe --support`; a test "
      "keeps it "
      "current. `{…}` may be\nleft out, `(a|b)` is a choice. PTX and sm are the lowest that have "
      "the "
      "form; single modifiers may need more.\n90a is that target and no other; 90a+ that one and "
      "later ones that have the suffix `a` or `f` (and, for `tcgen05`, tensor memory).\n";
  std::map<InstructionClass, std::vector<const InstructionRow *>> classes;
  for (const InstructionRow &row : instructionTable())
    classes[row.klass].push_back(&row);
  for (const auto &[klass, rows] : classes) {
    page += concat("\n## ", nameOf(klass),
                   "\n\n| instruction | operands | PTX | sm |\n|---|---|---|---|\n");
    for (const InstructionRow *row : rows)
      page += concat("| `", syntaxOf(*row), "` | `", operandsOf(*row), "` | ", row->version / 10,
                     ".", row->version % 10, " | ", row->requirement.example(),
                     row->requirement.kind == Requirement::Kind::all ||
                             row->requirement.kind == Requirement::Kind::only
                         ? ""
                         : "+",
                     " |\n");
  }
  page +=
      "\nEvery row is executed, and run by `test/vgpu/forms` against a reference.\n"
      "\n## Executed with a restriction\n\n| instruction | how |\n|---|---|\n"
      "| `cvt.rs` | PTX shows in figures which bits of the random operand each value takes: for "
      "four "
      "values they are those that others measured, for two those that kernels rely on |\n"
      "| `im2col::w` | the pixels of the halo are those that follow in the same order |\n"
      "| `im2col::w::128` | only without a halo, whose place PTX shows in a figure |\n"
      "| `multimem.*` | members are combined in the order in which their devices joined the team; "
      "a "
      "GPU may take another order |\n"
      "| `fma.oob` | the NaN that means out of bounds is 0x7fff, as tensor copies fill; PTX does "
      "not say its bits |\n"
      "| `wmma.*` | fragments have a layout of this machine, as PTX allows; `ldmatrix` does not "
      "make them |\n"
      "| `prefetch`, `applypriority`, `discard`, `createpolicy`, `pmevent`, `brkpt`, "
      "`setmaxnreg`, `griddepcontrol` | no effect that a program sees |\n"
      "| `tcgen05.*` | a block has a multiprocessor and its tensor memory alone; `.collector` has "
      "no "
      "effect; `shift.down` and `.ashift` move to the next lane, which PTX shows only in a figure "
      "|\n"
      "| `nanosleep` | the warp yields to other warps |\n"
      "| `call` of functions without a body | `vprintf`, `__assertfail`, `malloc` and `free` "
      "(8 MB), `cudaGraphSetConditional` |\n";
  page += "\n## Refused\n\nA module that holds one of these is refused, with the line.\n\n"
          "| instruction | why |\n|---|---|\n";
  for (auto [opcode, reason] : refusedInstructions())
    page += concat("| `", opcode, "` | ", reason, " |\n");
  return page;
}

} // namespace tilewright::vgpu::ptx
