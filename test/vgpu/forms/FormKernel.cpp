#include "test/vgpu/forms/FormKernel.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <iostream>

namespace tilewright::vgpu::forms {

std::string Form::name() const {
  std::string text(row->opcode);
  for (Modifier word : instruction.mods())
    text += "." + ptx::spellingOf(word);
  return text;
}

std::vector<Form> formsOf(const InstructionRow &row, size_t most, std::mt19937_64 &random) {
  size_t total = 1;
  for (const ptx::ModifierSlot &slot : row.slots)
    total *= slot.words.size() + slot.optional;
  std::vector<Form> forms;
  std::set<std::string> seen;
  const bool isAll = total <= most;
  // Several combinations may give the same text, or one that producers do not write.
  for (size_t i = 0; i < (isAll ? total : 4 * most) && forms.size() < most; ++i) {
    uint64_t number = isAll ? i : random();
    Form form;
    form.row = &row;
    form.instruction.row = row.id;
    uint8_t count = 0;
    for (const ptx::ModifierSlot &slot : row.slots) {
      const size_t choices = slot.words.size() + slot.optional;
      const size_t choice = number % choices;
      number /= choices;
      if (choice < slot.words.size())
        form.instruction.modifiers[count++] = slot.words[choice];
    }
    form.instruction.modifierCount = count;
    unsigned architecture = 0;
    for (Modifier word : form.instruction.mods())
      architecture = std::max(architecture, ptx::architectureOf(word));
    // Words of later chips only in the rows of these chips.
    if (architecture > std::max<unsigned>(90, row.requirement.architecture) ||
        !ptx::conflictOf(row, form.instruction.mods()).empty())
      continue;
    if (seen.insert(form.name()).second)
      forms.push_back(form);
  }
  return forms;
}

void Coverage::addModule(const ptx::Module &module, std::string_view kernel) {
  for (const ptx::Function &function : module.functions) {
    if (function.entry && module.name(function.name) != kernel)
      continue;
    for (const Instruction &instruction : function.instructions)
      add(ptx::rowOf(instruction).name);
  }
}

void Session::fail(std::string_view row, const std::string &why) {
  ++failures;
  failedRows.insert(std::string(row));
  if (++told[std::string(row)] <= 3)
    std::cerr << "FAILED " << row << ": " << why << "\n";
}
void Session::fail(const Form &form, const std::string &why) {
  fail(form.row->name, form.name() + ": " + why);
}

/// sm_90a, or the lowest target that has the form.
static std::string targetOf(const Form &form) {
  const ptx::Requirement &requirement = form.row->requirement;
  unsigned architecture = requirement.architecture;
  for (Modifier word : form.instruction.mods())
    architecture = std::max(architecture, ptx::architectureOf(word));
  return architecture <= 90 ? "sm_90a" : concat("sm_", architecture, "a");
}

std::shared_ptr<machine::LoadedModule> load(Session &session, const Form &form,
                                            const std::string &text) {
  const std::string target = targetOf(form), head = ".target sm_90a";
  if (session.collectsCuda && target == "sm_90a") // nvcc compiles all kernels for one target
    session.cuda.collect(form.row->name, text);
  const std::string name = session.cuda.nameOf(text);
  session.coverage.isThroughNvcc = !name.empty();
  session.kernel = name.empty() ? "k" : name;
  if (!name.empty())
    return session.cuda.module;
  std::string adapted = text;
  if (const size_t at = adapted.find(head); at != adapted.npos)
    adapted.replace(at, head.size(), ".target " + target);
  // A row may need a later version than moduleHead() gives.
  if (form.row->version > 90)
    adapted.replace(adapted.find("9.0"), 3,
                    concat(form.row->version / 10, ".", form.row->version % 10));
  Result<std::unique_ptr<machine::LoadedModule>> module =
      machine::LoadedModule::create(adapted, target);
  if (module.isOk())
    return *std::move(module);
  session.fail(form, std::move(module).takeStatus().toString() + "\n" + adapted);
  return nullptr;
}

bool launch(Session &session, const Form &form, machine::LoadedModule &module,
            const machine::LaunchConfig &config, std::span<const void *const> arguments) {
  machine::LaunchConfig ordered = config;
  ordered.completion = static_cast<machine::Completion>(session.random() % 3);
  ordered.seed = session.random() % 100;
  Status status = machine::launch(module, session.kernel, ordered, arguments);
  if (status.isOk())
    return true;
  session.fail(form, status.toString());
  return false;
}

bool run(Session &session, const Form &form, const std::string &text, const void *in, void *out,
         unsigned threads) {
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return false;
  const void *arguments[] = {&in, &out};
  ++session.forms;
  return launch(session, form, *module, {.grid = {1, 1, 1}, .block = {threads, 1, 1}}, arguments);
}

unsigned registerBits(Modifier type) {
  return type == Modifier::pred ? 1 : std::max(16u, ptx::bitsOf(type));
}
std::string registerName(unsigned bits, unsigned number) {
  return concat(bits == 1    ? "%p"
                : bits == 16 ? "%h"
                : bits == 32 ? "%r"
                : bits == 64 ? "%d"
                             : "%q",
                number);
}
std::string registerDeclarations() {
  return ".reg .pred %p<40>; .reg .b8 %b<40>; .reg .b16 %h<300>; .reg .b32 %r<300>; .reg .b64 "
         "%d<300>; "
         ".reg .b128 %q<40>;\n"
         ".reg .b32 %i, %x<40>; .reg .b64 %in, %out, %a<40>;\n";
}
std::string moduleHead() { return ".version 9.0\n.target sm_90a\n.address_size 64\n"; }

void runWords(Session &session, const Form &form, const std::string &text,
              const std::vector<uint32_t> &expected, const machine::LaunchConfig &config) {
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return;
  constexpr uint32_t untouched = 0xdead;
  std::vector<uint32_t> wanted = expected;
  wanted.insert(wanted.end(), 4, untouched);
  std::vector<uint32_t> out(wanted.size(), untouched);
  uint32_t *pout = out.data();
  const void *arguments[] = {&pout};
  ++session.forms;
  if (!launch(session, form, *module, config, arguments))
    return;
  session.values += expected.size();
  const auto [at, want] = std::mismatch(out.begin(), out.end(), wanted.begin());
  if (at != out.end())
    return session.fail(
        form, concat("word ", at - out.begin(), " is ", *at, ", expected ", *want, "\n", text));
  session.coverage.addModule(module->source(), session.kernel);
}

std::string vectorText(unsigned bits, unsigned first, unsigned count) {
  std::string text = count > 1 ? "{" : "";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + registerName(bits, first + i);
  return text + (count > 1 ? "}" : "");
}

std::string threadHead(const std::string &module, const std::string &shared) {
  return moduleHead() + module + ".visible .entry k(.param .u64 pout) {\n" +
         registerDeclarations() + shared +
         "ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x; mul.wide.u32 %a0, %i, 4; "
         "add.u64 %a1, %out, %a0;\n";
}

} // namespace tilewright::vgpu::forms
