#include "Mutate.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Number.h"
#include "tilewright/vgpu/ptx/Parser.h"
#include "tilewright/vgpu/ptx/Printer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

namespace tilewright::vgpu::mutation {

Result<std::string> isolate(std::string_view moduleText, std::string_view kernel) {
  TILEWRIGHT_ASSIGN(ptx::Module module, ptx::parse(moduleText));
  // Remove other kernels; keep variables and functions.
  std::erase_if(module.items, [&](const ptx::ModuleItem &item) {
    return item.kind == ptx::ModuleItemKind::function && module.functions[item.index].entry &&
           module.name(module.functions[item.index].name) != kernel;
  });
  std::erase_if(module.items, [](const ptx::ModuleItem &item) {
    return item.kind == ptx::ModuleItemKind::section;
  });
  return ptx::print(module);
}

namespace {
/// An instruction's text, "@%p1 bar.sync 0, 64", split into parts.
struct Line {
  std::string guard;  // "@%p1 "
  std::string opcode; // "bar.sync"
  std::string rest;   // "0, 64"
  std::string text() const { return guard + opcode + (rest.empty() ? "" : " ") + rest; }
};

Line takeApart(std::string_view text) {
  Line line;
  if (text.starts_with('@')) {
    const size_t space = text.find(' ');
    line.guard = text.substr(0, space + 1);
    text.remove_prefix(space + 1);
  }
  const size_t space = text.find(' ');
  line.opcode = text.substr(0, space);
  if (space != std::string_view::npos)
    line.rest = text.substr(space + 1);
  return line;
}

bool has(const Line &line, std::string_view word) {
  return line.opcode.find(word) != std::string::npos;
}
Line with(Line line, std::string_view word, std::string_view other) {
  const size_t at = line.opcode.find(word);
  if (at != std::string::npos)
    line.opcode.replace(at, word.size(), other);
  return line;
}

std::vector<std::string> operands(const Line &line) {
  std::vector<std::string> result;
  int depth = 0;
  std::string one;
  for (const char c : line.rest) {
    depth += c == '[' || c == '{' || c == '(' ? 1 : c == ']' || c == '}' || c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      result.push_back(one);
      one.clear();
      continue;
    }
    if (c != ' ' || !one.empty())
      one += c;
  }
  result.push_back(one);
  return result;
}
std::string joined(const std::vector<std::string> &list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i)
    text += (i ? ", " : "") + list[i];
  return text;
}

/// A short name of the instruction's function, for the table.
std::string shortName(const Line &line) {
  for (const char *name : {"barrier.cluster.arrive",
                           "barrier.cluster.wait",
                           "mbarrier.init",
                           "mbarrier.arrive.expect_tx",
                           "mbarrier.arrive",
                           "mbarrier.try_wait",
                           "mbarrier.test_wait",
                           "mbarrier.expect_tx",
                           "cp.async.mbarrier.arrive",
                           "cp.async.bulk.wait_group",
                           "cp.async.bulk.commit_group",
                           "cp.async.wait_group",
                           "cp.async.wait_all",
                           "cp.async.commit_group",
                           "wgmma.fence",
                           "wgmma.commit_group",
                           "wgmma.wait_group",
                           "fence.proxy.async",
                           "fence.proxy.tensormap",
                           "fence.mbarrier_init",
                           "fence",
                           "membar",
                           "bar.warp.sync",
                           "tensormap.cp_fenceproxy",
                           "tcgen05.commit",
                           "tcgen05.wait::ld",
                           "tcgen05.wait::st",
                           "tcgen05.dealloc"})
    if (line.opcode.starts_with(name))
      return name;
  for (const char *name : {"sync", "arrive", "red"})
    for (const char *prefix : {"bar.", "barrier."})
      if (line.opcode.starts_with(concat(prefix, name)) ||
          line.opcode.starts_with(concat(prefix, "cta.", name)))
        return concat("bar.", name);
  const size_t dot = line.opcode.find('.');
  return line.opcode.substr(0, dot);
}

/// An atomic addition as a load, an addition and a store, with the qualifiers `order` of both
/// accesses; empty if it is another operation.
Line splitAddition(const Line &line, const std::vector<std::string> &args, std::string_view order) {
  const size_t type = line.opcode.rfind('.');
  if (!has(line, ".add.") || type == std::string::npos || has(line, ".v"))
    return {};
  const std::string kind = line.opcode.substr(type + 1);
  if (kind.size() != 3 || std::string_view("usf").find(kind[0]) == std::string_view::npos)
    return {};
  const bool isRed = line.opcode.starts_with("red");
  const std::string &address = args[isRed ? 0 : 1], &added = args[isRed ? 1 : 2];
  std::string space;
  for (const char *one : {".global", ".shared::cluster", ".shared::cta", ".shared"})
    if (space.empty() && has(line, one))
      space = one;
  const std::string width = kind.substr(1);
  // The destination may be the address or the addend, so it is written last.
  auto does = [&](auto... parts) { return concat(line.guard, parts..., "; "); };
  Line split;
  split.opcode = concat("{ .reg .b", width, " %read, %sum; ") +
                 does("ld", order, space, ".", kind, " %read, ", address) +
                 does("add.", kind, " %sum, %read, ", added) +
                 does("st", order, space, ".", kind, " ", address, ", %sum") +
                 (isRed || args[0] == "_" ? "" : does("mov.b", width, " ", args[0], ", %read")) +
                 "}";
  return split;
}

/// Facts about the kernel that mutations use.
struct KernelFacts {
  uint32_t threads = 0;                         // of a block
  std::map<std::string, std::string> constants; // of registers that only ever hold one value
  std::vector<std::string> pointers;            // parameters that are addresses of buffers
};

/// Calls `make(class, line)` for each mutant; an empty opcode is a deletion.
void mutationsOf(const Line &line, const KernelFacts &facts,
                 const std::function<void(std::string, Line)> &make) {
  const std::string name = shortName(line);
  std::vector<std::string> args = operands(line);
  for (std::string &argument : args)
    if (auto constant = facts.constants.find(argument); constant != facts.constants.end())
      argument = constant->second;
  auto remove = [&] { make("delete " + name, {}); };
  auto changed = [&](size_t index, int64_t by, const std::string &what) {
    if (index >= args.size())
      return;
    if (const std::optional<int64_t> value = numberIn<int64_t>(args[index]);
        value && *value + by >= 0) {
      std::vector<std::string> other = args;
      other[index] = std::to_string(*value + by);
      Line next = line;
      next.rest = joined(other);
      make(what, next);
    }
  };
  // Weakens scopes and memory orders of any instruction that has them.
  auto weaken = [&] {
    for (const auto &[from, to] :
         {std::pair(".sys", ".cta"), std::pair(".gpu", ".cta"), std::pair(".cluster", ".cta")})
      if (has(line, from) && line.opcode.find(concat(from, ".")) != std::string::npos &&
          line.opcode.find(":") != line.opcode.find(from) - 1 &&
          line.opcode.find(concat(":", from)) == std::string::npos) {
        // ".shared::cluster" is a space, not a scope.
        const size_t at = line.opcode.find(from);
        if (at > 0 && line.opcode[at - 1] == ':')
          continue;
        make("scope " + name, with(line, from, to));
        break;
      }
    for (const char *from : {".acquire", ".release", ".acq_rel"})
      if (has(line, from) && !line.opcode.starts_with("fence"))
        make("relax " + name, with(line, from, ".relaxed"));
  };
  // Makes a strong load or store weak, and an atomic addition one that others can interrupt.
  auto breakAtomicity = [&] {
    if (name == "ld" || name == "st") {
      Line weak = line;
      for (const char *word :
           {".acquire", ".release", ".relaxed", ".cta", ".cluster", ".gpu", ".sys"})
        if (const size_t at = weak.opcode.find(word);
            at != std::string::npos && weak.opcode[at - 1] != ':')
          weak = with(weak, word, "");
      make("weak " + name, weak);
    } else if (name == "atom" || name == "red") {
      for (const char *order : {"", ".relaxed.gpu"})
        if (Line split = splitAddition(line, args, order); !split.opcode.empty())
          make(concat("split ", name, *order ? " relaxed" : " weak"), split);
    }
  };
  if (name == "bar.sync") {
    remove();
    Line arrive = with(line, "sync", "arrive");
    if (args.size() == 1)
      arrive.rest = concat(args[0], ", ", facts.threads);
    make("bar.sync to bar.arrive", arrive);
    changed(1, 32, "count bar.sync");
    if (args.size() > 1)
      if (const std::optional<int64_t> value = numberIn<int64_t>(args[1]); value && *value > 32)
        changed(1, -32, "count bar.sync");
  } else if (name == "bar.arrive") {
    remove();
    changed(1, 32, "count bar.arrive");
  } else if (name == "bar.red") {
    // Computes the value without the barrier.
    Line value;
    value.guard = line.guard;
    const bool isCount = has(line, ".popc");
    value.opcode = isCount ? "selp.u32" : "mov.pred";
    value.rest =
        isCount ? concat(args[0], ", 1, 0, ", args.back()) : concat(args[0], ", ", args.back());
    make("delete bar.red", value);
  } else if (name == "bar.warp.sync" || name == "wgmma.fence" || name == "wgmma.commit_group" ||
             name == "cp.async.commit_group" || name == "cp.async.bulk.commit_group" ||
             name == "fence.mbarrier_init" || name == "cp.async.mbarrier.arrive" ||
             name == "fence.proxy.tensormap" || name == "tcgen05.commit" ||
             name == "tcgen05.wait::ld" || name == "tcgen05.wait::st" ||
             name == "tcgen05.dealloc") {
    remove();
  } else if (name == "membar") {
    remove();
    make("scope membar", with(with(line, ".gl", ".cta"), ".sys", ".cta"));
  } else if (name == "fence") {
    remove();
    weaken();
    const size_t last = line.opcode.rfind('.');
    if (const std::string scope = line.opcode.substr(last);
        scope == ".gpu" || scope == ".sys" || scope == ".cluster") {
      Line narrow = line;
      narrow.opcode = line.opcode.substr(0, last) + ".cta";
      make("scope fence", narrow);
    }
  } else if (name == "fence.proxy.async") {
    remove();
    if (has(line, ".shared::cta"))
      make("space fence.proxy.async", with(line, ".shared::cta", ".global"));
  } else if (name == "cp.async.wait_all") {
    remove();
    make("later cp.async.wait_group", {line.guard, "cp.async.wait_group", "1"});
  } else if (name == "cp.async.wait_group" || name == "wgmma.wait_group" ||
             name == "cp.async.bulk.wait_group") {
    remove();
    changed(0, 1, "later " + name);
    if (name == "cp.async.bulk.wait_group" && !has(line, ".read"))
      make("read cp.async.bulk.wait_group",
           with(line, "cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read"));
  } else if (name == "barrier.cluster.arrive") {
    remove();
    weaken();
    if (!has(line, ".relaxed") && !has(line, ".release"))
      make("relax barrier.cluster.arrive",
           with(line, "barrier.cluster.arrive", "barrier.cluster.arrive.relaxed"));
  } else if (name == "barrier.cluster.wait") {
    remove();
  } else if (name == "mbarrier.init") {
    changed(1, 1, "count mbarrier.init");
    if (args.size() > 1 && numberIn<int64_t>(args[1]).value_or(0) > 1)
      changed(1, -1, "count mbarrier.init");
  } else if (name == "mbarrier.arrive.expect_tx") {
    remove();
    changed(2, 16, "bytes mbarrier.arrive.expect_tx");
    changed(2, -16, "bytes mbarrier.arrive.expect_tx");
    Line plain = with(line, ".expect_tx", "");
    plain.rest = concat(args[0], ", ", args[1]);
    make("no expect_tx", plain);
    weaken();
  } else if (name == "mbarrier.arrive") {
    remove();
    weaken();
    if (!has(line, ".relaxed") && !has(line, ".release"))
      make("relax mbarrier.arrive", with(line, "mbarrier.arrive", "mbarrier.arrive.relaxed.cta"));
  } else if (name == "mbarrier.try_wait" || name == "mbarrier.test_wait") {
    // Behaves as if the phase were complete already.
    make("delete " + name, {line.guard, "setp.eq.u32", args[0] + ", 0, 0"});
    weaken();
    if (!has(line, ".relaxed") && !has(line, ".acquire")) {
      const char *anchor = has(line, ".parity") ? ".parity" : "_wait";
      make("relax " + name, with(line, anchor, concat(anchor, ".relaxed.cta")));
    }
    if (const std::optional<int64_t> parity = numberIn<int64_t>(args.back());
        parity && has(line, ".parity") && args.size() == 3)
      changed(2, *parity == 0 ? 1 : -1, "parity " + name);
    else if (has(line, ".parity") && args.size() >= 3) {
      std::vector<std::string> other = args;
      other[2] = "%other";
      Line flipped;
      flipped.opcode = concat("{ .reg .b32 %other; xor.b32 %other, ", args[2], ", 1; ", line.guard,
                              line.opcode, " ", joined(other), "; }");
      make("parity " + name, flipped);
    }
  } else if (line.opcode.starts_with("tensormap.cp_fenceproxy")) {
    weaken();
  } else if (has(line, ".acquire") || has(line, ".release") || has(line, ".acq_rel") ||
             has(line, ".relaxed")) {
    weaken();
    breakAtomicity();
  } else if (line.opcode.starts_with("ld.param.") && line.opcode.ends_with("64")) {
    // Another buffer: of a kernel that updates in place, a wrong alias.
    const auto found =
        std::find_if(facts.pointers.begin(), facts.pointers.end(), [&](const std::string &pointer) {
          return args[1] == concat("[", pointer, "]");
        });
    if (found != facts.pointers.end() && facts.pointers.size() > 1) {
      const auto next = found + 1 == facts.pointers.end() ? facts.pointers.begin() : found + 1;
      Line other = line;
      other.rest = concat(args[0], ", [", *next, "]");
      make("alias ld.param", other);
    }
  } else if (line.opcode.starts_with("atom.") || line.opcode.starts_with("red.")) {
    // Without qualifiers an atomic is .relaxed.gpu.
    const size_t dot = line.opcode.find('.');
    Line narrow = line;
    narrow.opcode.insert(dot, ".relaxed.cta");
    make("scope " + name, narrow);
    breakAtomicity();
  }
}
} // namespace

Result<std::vector<Mutant>> mutate(const std::string &text, std::string_view kernel,
                                   uint32_t threads) {
  TILEWRIGHT_ASSIGN(ptx::Module module, ptx::parse(text));
  const ptx::Function *function = module.findDefinition(kernel);
  if (!function)
    return Status(Code::notFound, concat("no kernel ", kernel));
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  KernelFacts facts;
  facts.threads = threads;
  for (const uint32_t parameter : function->parameters)
    if (const ptx::Variable &variable = module.variables[parameter]; variable.pointer)
      facts.pointers.emplace_back(module.name(variable.name));
  std::map<std::string, std::string> &constants = facts.constants;
  std::map<std::string, int> writes;
  for (const ptx::Instruction &instruction : function->instructions) {
    const Line line = takeApart(ptx::print(module, *function, instruction));
    const std::vector<std::string> args = operands(line);
    ++writes[args[0]];
    if (line.opcode.starts_with("mov.") && line.guard.empty() && args.size() == 2 &&
        numberIn<int64_t>(args[1]))
      constants[args[0]] = args[1];
  }
  std::erase_if(constants, [&](const auto &one) { return writes[one.first] != 1; });
  std::vector<Mutant> mutants;
  for (const ptx::Instruction &instruction : function->instructions) {
    const uint32_t at = instruction.position.line - 1;
    const Line line = takeApart(ptx::print(module, *function, instruction));
    mutationsOf(line, facts, [&](std::string what, const Line &next) {
      if (next.text() == line.text())
        return;
      Mutant mutant;
      mutant.mutation = std::move(what);
      mutant.line = at + 1;
      mutant.before = line.text();
      mutant.now = next.opcode.empty() ? "" : next.text();
      for (size_t i = 0; i < lines.size(); ++i)
        mutant.text +=
            (i == at ? mutant.now + (mutant.now.empty() || mutant.now.starts_with('{') ? "" : ";")
                     : lines[i]) +
            "\n";
      // Drop mutants that are not valid PTX.
      if (ptx::parse(mutant.text).isOk())
        mutants.push_back(std::move(mutant));
    });
  }
  return mutants;
}

} // namespace tilewright::vgpu::mutation
