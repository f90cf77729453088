// Loads and stores of every type, vector and space, hints, and conversions of addresses.
#include "test/vgpu/forms/FormKernel.h"
#include "tilewright/support/Concat.h"

#include <cstring>
#include <sstream>

namespace tilewright::vgpu::forms {

namespace {

constexpr unsigned threads = 32;
constexpr unsigned bytesEach = 64; // that each thread has in a space

/// The location of a thread's bytes: how to fill it, how to read it back, and its address.
struct MemoryOperand {
  std::string declarations; // of the module
  std::string begin;        // fills the memory from [%in]
  std::string end;          // copies it to [%out]
  std::string address;
  bool isParameter = false; // the same bytes for all threads
};

/// Copies the 64 bytes of a thread, 16 at a time.
std::string copyBytes(const std::string &loadSpace, const std::string &from,
                      const std::string &storeSpace, const std::string &to) {
  std::string text;
  for (unsigned at = 0; at < bytesEach; at += 16)
    text +=
        concat("ld.", loadSpace, ".v4.b32 {%x10, %x11, %x12, %x13}, [", from, "+", at, "];\nst.",
               storeSpace, ".v4.b32 [", to, "+", at, "], {%x10, %x11, %x12, %x13};\n");
  return text;
}

/// `data` are the bytes of all threads, needed for constants.
MemoryOperand memoryOperandFor(Modifier space, std::mt19937_64 &random,
                               const std::vector<uint8_t> &data, const InstructionRow &row,
                               bool isStore = false) {
  const std::string_view opcode = row.opcode;
  const bool isWide = row.requirement.architecture >= 100; // 256 bits only of global memory
  MemoryOperand memory;
  // Without a space the address is generic and may refer to any memory.
  const bool isGeneric = space == Modifier::none;
  if (isGeneric) {
    static constexpr Modifier choices[] = {Modifier::global, Modifier::shared, Modifier::local};
    space = opcode == "ldu" || isWide ? Modifier::global : choices[random() % 3];
  }
  auto generic = [&](const char *kind, const char *offset) {
    return concat("cvt.u64.u32 %a4, ", offset, "; cvta.", kind, ".u64 %a4, %a4;\n");
  };
  switch (space) {
  case Modifier::shared:
  case Modifier::sharedCta:
  case Modifier::sharedCluster:
    memory.declarations = ".shared .align 16 .b8 tile[2048];\n";
    memory.begin = "mov.u32 %x20, tile; mad.lo.u32 %x20, %i, 64, %x20;\n" +
                   copyBytes("global", "%in", "shared", "%x20");
    memory.end = copyBytes("shared", "%x20", "global", "%out");
    memory.address = "[%x20]";
    if (isGeneric) {
      memory.begin += generic("shared", "%x20");
      memory.address = "[%a4]";
    }
    break;
  case Modifier::local:
    memory.begin = ".local .align 16 .b8 stack[64];\nmov.u64 %a5, stack;\n" +
                   copyBytes("global", "%in", "local", "%a5");
    memory.end = copyBytes("local", "%a5", "global", "%out");
    memory.address = "[%a5]";
    if (isGeneric) {
      memory.begin += "cvta.local.u64 %a4, %a5;\n";
      memory.address = "[%a4]";
    }
    break;
  case Modifier::constant: {
    memory.declarations = concat(".const .align 16 .b8 table[", data.size(), "] = {");
    for (size_t i = 0; i < data.size(); ++i)
      memory.declarations += concat(i ? "," : "", unsigned(data[i]));
    memory.declarations += "};\n";
    memory.begin = "mov.u64 %a5, table; mul.wide.u32 %a6, %i, 64; add.u64 %a5, %a5, %a6;\n";
    memory.address = "[%a5]";
    if (random() & 1) { // with 32-bit pointers, as some compilers use
      memory.begin += "mov.b32 %x20, table; mad.lo.u32 %x20, %i, 64, %x20;\n";
      memory.address = "[%x20]";
    }
    break;
  }
  case Modifier::param:
  case Modifier::paramEntry:
    memory.address = "[bytes]";
    memory.isParameter = true;
    break;
  default: // loads read the input; stores write to a copy of it, which is the result
    memory.begin = isStore ? copyBytes("global", "%in", "global", "%out") : "";
    memory.address = isStore ? "[%out]" : "[%in]";
    break;
  }
  return memory;
}

std::string kernelHead(const std::string &declarations) {
  return moduleHead() + declarations +
         ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .align 16 .b8 bytes[64]) "
         "{\n" +
         registerDeclarations() +
         "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x;\n"
         "mul.wide.u32 %a0, %i, 64; add.u64 %in, %in, %a0; add.u64 %a1, %out, %a0; "
         "mul.wide.u32 %a0, %i, 128; add.u64 %a2, %out, %a0;\nmov.u64 %out, %a1;\n"
         "createpolicy.fractional.L2::evict_last.b64 %d299, 0f3F800000;\n";
}

/// Runs with 2048 bytes of input and up to 4096 bytes of output.
bool runText(Session &session, const Form &form, const std::string &text,
             const std::vector<uint8_t> &in, std::vector<uint8_t> &out) {
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return false;
  out.assign(4096, 0);
  alignas(16) uint8_t parameter[bytesEach];
  std::memcpy(parameter, in.data(), bytesEach);
  // Accesses of 32 bytes need aligned addresses.
  alignas(64) uint8_t input[threads * bytesEach], output[4096] = {};
  std::memcpy(input, in.data(), sizeof(input));
  const uint8_t *pin = input;
  uint8_t *pout = output;
  const void *arguments[] = {&pin, &pout, parameter};
  ++session.forms;
  const bool isDone =
      launch(session, form, *module, {.grid = {1, 1, 1}, .block = {threads, 1, 1}}, arguments);
  std::memcpy(out.data(), output, sizeof(output));
  return isDone;
}

std::vector<uint8_t> randomBytes(std::mt19937_64 &random) {
  std::vector<uint8_t> data(threads * bytesEach);
  for (uint8_t &one : data)
    one = static_cast<uint8_t>(random());
  return data;
}

unsigned widerBits(Modifier type, std::mt19937_64 &random) {
  const unsigned own = registerBits(type);
  const bool isFloat = ptx::categoryOf(type) == ptx::TypeCategory::floating;
  const unsigned choices[] = {own, std::max(own, 32u), std::max(own, 64u)};
  return isFloat || own > 64 ? own : choices[random() % 3];
}

} // namespace

static void runLoad(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Modifier type = instruction.type(), space = instruction.find(ModifierKind::space);
  const unsigned count = instruction.vectorLength(), bytes = ptx::bitsOf(type) / 8;
  const unsigned bits = widerBits(type, session.random);
  const std::vector<uint8_t> data = randomBytes(session.random);
  std::string text;
  const bool hasPolicy = instruction.has(Modifier::l2CacheHint);
  std::ostringstream after;
  for (unsigned i = 0; i < count; ++i)
    after << "st.global.b" << bits << " [%a2+" << i * 16 << "], " << registerName(bits, i + 1)
          << ";\n";
  bool isParameter = false;
  if (space == Modifier::paramFunc) {
    // Inside a function, the space refers to the function's own parameter.
    isParameter = true;
    text =
        moduleHead() + ".func f(.param .b64 result, .param .align 16 .b8 bytes[64]) {\n" +
        registerDeclarations() + "ld.param.u64 %a2, [result];\n" + form.name() + " " +
        vectorText(bits, 1, count) + ", [bytes];\n" + after.str() + "ret;\n}\n" +
        ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .align 16 .b8 bytes[64]) {\n" +
        registerDeclarations() +
        "ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x; mul.wide.u32 %a0, %i, 128; "
        "add.u64 %a2, %out, %a0;\n{\n.param .b64 result; .param .align 16 .b8 argument[64];\n"
        "st.param.b64 [result], %a2;\n";
    for (unsigned at = 0; at < bytesEach; at += 8)
      text +=
          concat("ld.param.b64 %a3, [bytes+", at, "]; st.param.b64 [argument+", at, "], %a3;\n");
    text += "call f, (result, argument);\n}\nret;\n}\n";
  } else {
    const MemoryOperand memory = memoryOperandFor(space, session.random, data, *form.row);
    isParameter = memory.isParameter;
    text = kernelHead(memory.declarations) + memory.begin + form.name() + " " +
           vectorText(bits, 1, count) + ", " + memory.address + (hasPolicy ? ", %d299" : "") +
           ";\n" + after.str() + "ret;\n}\n";
  }
  std::vector<uint8_t> out;
  if (!runText(session, form, text, data, out))
    return;
  const bool isSigned = ptx::categoryOf(type) == ptx::TypeCategory::signedInteger;
  for (unsigned t = 0; t < threads; ++t)
    for (unsigned i = 0; i < count; ++i) {
      const uint8_t *from = &data[(isParameter ? 0 : t * bytesEach) + i * bytes];
      uint8_t expected[16];
      std::memset(expected, isSigned && from[bytes - 1] & 128 ? 255 : 0, 16);
      std::memcpy(expected, from, bytes);
      ++session.values;
      if (std::memcmp(&out[t * 128 + i * 16], expected, bits / 8) != 0) {
        session.fail(form, concat("thread ", t, " element ", i, " is wrong\n", text));
        return;
      }
    }
  session.coverage.add(form.row->name);
}

/// st.bulk: zeros in the middle of shared memory, and nothing beside them.
static void runBulkStore(Session &session, const Form &form) {
  const std::vector<uint8_t> data = randomBytes(session.random);
  const unsigned first = 8 * static_cast<unsigned>(session.random() % 64);
  const unsigned bytes = 8 * static_cast<unsigned>(session.random() % 100);
  const bool isGeneric = form.instruction.find(ModifierKind::space) == Modifier::none;
  const std::string text =
      kernelHead(".shared .align 16 .b8 tile[2048];\n") +
      concat("mov.u32 %x20, tile; mad.lo.u32 %x21, %i, 64, %x20; mov.u64 %d1, ", bytes, ";\n",
             copyBytes("global", "%in", "shared", "%x21"),
             "bar.sync 0; setp.eq.u32 %p1, %i, 7; add.u32 %x20, %x20, ", first,
             "; cvt.u64.u32 %a4, %x20; cvta.shared.u64 %a4, %a4;\n@%p1 ", form.name(),
             isGeneric ? " [%a4]" : " [%x20]", ", %d1, 0;\nbar.sync 0;\n",
             copyBytes("shared", "%x21", "global", "%out"), "ret;\n}\n");
  std::vector<uint8_t> out;
  if (!runText(session, form, text, data, out))
    return;
  for (unsigned i = 0; i < data.size(); ++i) {
    ++session.values;
    if (out[i] != (i >= first && i < first + bytes ? 0 : data[i])) {
      session.fail(form, concat("byte ", i, " is wrong"));
      return;
    }
  }
  session.coverage.add(form.row->name);
}

static void runStore(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Modifier type = instruction.type(), space = instruction.find(ModifierKind::space);
  const unsigned count = instruction.vectorLength(), bytes = ptx::bitsOf(type) / 8;
  const unsigned bits = widerBits(type, session.random);
  const std::vector<uint8_t> data = randomBytes(session.random);
  // The values to store are loaded from the input, 8 or 16 bytes each.
  std::ostringstream values;
  const unsigned step = bits == 128 ? 16 : 8;
  for (unsigned i = 0; i < count; ++i)
    values << "ld.global.b" << bits << " " << registerName(bits, i + 1) << ", [%in+" << i * step
           << "];\n";
  const std::string policy = instruction.has(Modifier::l2CacheHint) ? ", %d299" : "";
  std::string text;
  const bool isArgument = space == Modifier::param || space == Modifier::paramFunc;
  if (isArgument) {
    // Passes the bytes as an argument of a call; the function copies them out.
    text = moduleHead() + ".func f(.param .b64 result, .param .align 16 .b8 bytes[64]) {\n" +
           registerDeclarations() + "ld.param.u64 %a2, [result];\n";
    for (unsigned at = 0; at < bytesEach; at += 8)
      text += concat("ld.param.b64 %a3, [bytes+", at, "]; st.global.b64 [%a2+", at, "], %a3;\n");
    text += "ret;\n}\n" + kernelHead("").substr(moduleHead().size()) + values.str() +
            "{\n.param .b64 result; .param .align 16 .b8 argument[64];\n"
            "st.param.b64 [result], %out;\n";
    for (unsigned at = 0; at < bytesEach; at += 8)
      text += concat("ld.global.b64 %a3, [%in+", at, "]; st.param.b64 [argument+", at, "], %a3;\n");
    text += form.name() + " [argument], " + vectorText(bits, 1, count) + policy +
            ";\ncall f, (result, argument);\n}\nret;\n}\n";
  } else {
    const MemoryOperand memory = memoryOperandFor(space, session.random, data, *form.row, true);
    text = kernelHead(memory.declarations) + memory.begin + values.str() + form.name() + " " +
           memory.address + ", " + vectorText(bits, 1, count) + policy + ";\n" + memory.end +
           "ret;\n}\n";
  }
  std::vector<uint8_t> out;
  if (!runText(session, form, text, data, out))
    return;
  for (unsigned t = 0; t < threads; ++t) {
    uint8_t expected[bytesEach];
    std::memcpy(expected, &data[t * bytesEach], bytesEach);
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(expected + i * bytes, &data[t * bytesEach + i * step], bytes);
    ++session.values;
    if (std::memcmp(&out[t * bytesEach], expected, bytesEach) != 0) {
      session.fail(form, concat("thread ", t, " stored something else\n", text));
      return;
    }
  }
  session.coverage.add(form.row->name);
}

/// Hints are executed, and memory stays as it is.
static void runHint(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const std::vector<uint8_t> data = randomBytes(session.random);
  std::string declarations, operands;
  if (form.row->handler == Handler::createpolicy) {
    operands = form.row->opcode == "createpolicy.range"        ? "%d1, [%in], 64, 128"
               : form.row->opcode == "createpolicy.fractional" ? "%d1, 0f3F000000"
                                                               : "%d1, %d299";
  } else if (instruction.has(Modifier::tensormap)) {
    // The address is that of a tensor map, whose bytes are not read.
    if (instruction.has(Modifier::constant))
      declarations = ".const .align 64 .b8 table[128];\n";
    operands = instruction.has(Modifier::constant) ? "[table]"
               : instruction.has(Modifier::param)  ? "[bytes]"
                                                   : "[%in]";
  } else {
    operands = instruction.has(Modifier::local) ? "[%a7]" : "[%in]";
    // An address in memory that is not read.
    if (form.row->opcode == "applypriority" || form.row->opcode == "discard")
      operands = "[%out+2048], 128";
  }
  const std::string text = kernelHead(declarations) +
                           ".local .align 16 .b8 stack[64];\nmov.u64 %a7, stack;\n" + form.name() +
                           " " + operands + ";\n" + copyBytes("global", "%in", "global", "%out") +
                           "ret;\n}\n";
  std::vector<uint8_t> out;
  if (!runText(session, form, text, data, out))
    return;
  ++session.values;
  if (std::memcmp(out.data(), data.data(), data.size()) != 0)
    session.fail(form, "changed memory");
  else
    session.coverage.add(form.row->name);
}

/// Converts addresses with cvta and cvta.to in both directions, and checks isspacep, for every
/// space.
static void runAddress(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Modifier space = instruction.find(ModifierKind::space);
  struct Case {
    Modifier space;
    const char *pointer; // a generic one
  };
  std::vector<Case> cases = {{Modifier::global, "%a20"},
                             {Modifier::shared, "%a22"},
                             {Modifier::local, "%a23"},
                             {Modifier::param, "%a24"},
                             {Modifier::sharedCluster, "%a25"}};
  const bool hasConstant = space == Modifier::constant || session.random() & 1;
  if (hasConstant)
    cases.push_back({Modifier::constant, "%a21"});
  std::string text =
      kernelHead(hasConstant ? ".const .align 16 .b32 table[4] = {7,8,9,10};\n" : "") +
      ".shared .align 16 .b8 tile[64];\n.local .align 16 .b8 stack[64];\n" +
      (hasConstant ? "cvta.const.u64 %a21, table;\n" : "") +
      "cvta.global.u64 %a20, %in; cvta.shared.u64 %a22, tile; "
      "cvta.local.u64 %a23, stack; mov.b64 %a24, bytes; cvta.param.u64 %a24, %a24;\n"
      // The same variable of the other block of the cluster.
      "mov.u32 %x1, %cluster_ctarank; xor.b32 %x1, %x1, 1; mapa.u64 %a25, %a22, %x1;\n"
      "mov.u32 %x2, %tid.x; mov.u32 %x3, %ctaid.x; or.b32 %x2, %x2, %x3; "
      "setp.ne.u32 %p2, %x2, 0; @%p2 bra L;\n";
  size_t index = 0;
  auto store = [&](const char *value) {
    text += concat("st.global.b32 [%out+", 4 * index++, "], ", value, ";\n");
  };
  std::vector<uint32_t> expected;
  auto family = [](Modifier one) {
    return one == Modifier::sharedCta    ? Modifier::shared
           : one == Modifier::paramEntry ? Modifier::param
                                         : one;
  };
  if (form.row->handler == Handler::isspacep) {
    for (const Case &one : cases) {
      text += form.name() + " %p1, " + one.pointer + ";\nselp.u32 %x4, 1, 0, %p1;\n";
      store("%x4");
      bool holds = family(space) == one.space;
      if (space == Modifier::sharedCluster)
        holds = one.space == Modifier::shared || one.space == Modifier::sharedCluster;
      // The window of kernel parameters is inside that of global memory.
      if (space == Modifier::global)
        holds = one.space == Modifier::global || one.space == Modifier::param;
      expected.push_back(holds);
    }
  } else {
    // Stores through one kind of address and loads through the other.
    const Modifier to = family(space) == Modifier::sharedCluster ? Modifier::shared : family(space);
    const char *generic = "%a20";
    for (const Case &one : cases)
      if (one.space == to)
        generic = one.pointer;
    const std::string spaceText = "." + ptx::spellingOf(space);
    if (form.row->handler == Handler::cvtaTo) {
      text += form.name() + " %d1, " + generic + ";\n";
    } else {
      text +=
          concat("cvta.to", spaceText, ".u64 %d1, ", generic, ";\n", form.name(), " %d2, %d1;\n");
      text += concat("sub.u64 %d3, %d2, ", generic, "; cvt.u32.u64 %x4, %d3;\n");
      store("%x4");
      expected.push_back(0);
    }
    const bool isReadOnly = to == Modifier::constant || to == Modifier::param;
    if (!isReadOnly)
      text += concat("mov.u32 %x5, 4711; st", ".b32 [", generic, "], %x5;\n");
    text += concat("ld", spaceText, ".b32 %x6, [%d1]; ld.b32 %x7, [", generic,
                   "]; sub.u32 %x6, %x6, %x7;\n");
    store("%x6");
    expected.push_back(0);
    if (!isReadOnly) {
      store("%x7");
      expected.push_back(4711);
    }
  }
  text += "L:\nbarrier.cluster.arrive; barrier.cluster.wait;\nret;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return;
  std::vector<uint32_t> out(1024);
  alignas(16) uint8_t parameter[64] = {1, 2, 3};
  const uint32_t *pin = out.data() + 512;
  uint32_t *pout = out.data();
  const void *arguments[] = {&pin, &pout, parameter};
  ++session.forms;
  if (!launch(session, form, *module, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}},
              arguments))
    return;
  for (size_t i = 0; i < expected.size(); ++i) {
    ++session.values;
    if (out[i] != expected[i]) {
      session.fail(form,
                   concat("value ", i, " is ", out[i], ", expected ", expected[i], "\n", text));
      return;
    }
  }
  session.coverage.add(form.row->name);
}

/// mapa and getctarank: every block writes its rank into the next one's memory.
static void runCluster(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const bool isMap = form.row->handler == Handler::mapa;
  const bool isShared = instruction.find(ModifierKind::space) != Modifier::none;
  const unsigned bits = ptx::bitsOf(instruction.type());
  // A generic address has 64 bits; one of .shared::cluster may have 32.
  if (!isShared && bits == 32)
    return;
  const std::string own = registerName(bits, 1), other = registerName(bits, 2);
  std::string text =
      moduleHead() + ".visible .entry k(.param .u64 pout) .reqnctapercluster 4, 1, 1 {\n" +
      registerDeclarations() +
      ".shared .align 4 .b32 box;\nld.param.u64 %out, [pout]; mov.u32 %x1, %cluster_ctarank; "
      "add.u32 %x2, %x1, 1; and.b32 %x2, %x2, 3; mov.u32 %x9, box; cvt.u64.u32 %a1, %x9;\n";
  text += bits == 32 ? "mov.b32 %r1, %x9;\n"
          : isShared ? "mov.b64 %d1, %a1;\n"
                     : "cvta.shared.u64 %d1, %a1;\n";
  text += isMap ? form.name() + " " + other + ", " + own + ", %x2;\n"
                : concat("mapa", isShared ? ".shared::cluster" : "", ".u", bits, " ", other, ", ",
                         own, ", %x2;\n", form.name(), " %x3, ", other, ";\n");
  text += "barrier.cluster.arrive; barrier.cluster.wait;\n";
  text += concat("st", isShared ? ".shared::cluster" : "", ".u32 [", other, "], ",
                 isMap ? "%x1" : "%x3", ";\n");
  text +=
      "barrier.cluster.arrive; barrier.cluster.wait;\nld.shared.u32 %x4, [box]; "
      "mul.wide.u32 %a2, %x1, 4; add.u64 %out, %out, %a2; st.global.u32 [%out], %x4;\nret;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return;
  uint32_t out[4] = {9, 9, 9, 9};
  uint32_t *pout = out;
  const void *arguments[] = {&pout};
  ++session.forms;
  if (!launch(session, form, *module, {.grid = {4, 1, 1}, .block = {1, 1, 1}}, arguments))
    return;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    // The preceding block wrote its own rank, or the rank that it queried.
    const uint32_t expected = isMap ? (rank + 3) % 4 : rank;
    ++session.values;
    if (out[rank] != expected) {
      session.fail(form, concat("block ", rank, " has ", out[rank], ", expected ", expected));
      return;
    }
  }
  session.coverage.add(form.row->name);
}

static void runWideMove(Session &session, const Form &form) {
  const std::string text =
      kernelHead("") + "ld.global.b64 %d1, [%in]; ld.global.b64 %d2, [%in+8];\n" + form.name() +
      " %q1, {%d1, %d2};\n" + form.name() + " %q2, %q1;\n" + form.name() +
      " {%d3, %d4}, %q2;\nst.global.b64 [%out], %d4; st.global.b64 [%out+8], %d3;\nret;\n}\n";
  const std::vector<uint8_t> data = randomBytes(session.random);
  std::vector<uint8_t> out;
  if (!runText(session, form, text, data, out))
    return;
  for (unsigned t = 0; t < threads; ++t) {
    ++session.values;
    if (std::memcmp(&out[t * 64], &data[t * 64 + 8], 8) != 0 ||
        std::memcmp(&out[t * 64 + 8], &data[t * 64], 8) != 0)
      return session.fail(form, "the halves are wrong");
  }
  session.coverage.add(form.row->name);
}

void runMemory(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable()) {
    void (*run)(Session &, const Form &) = nullptr;
    switch (row.handler) {
    case Handler::ld:
      run = runLoad;
      break;
    case Handler::st:
      run = runStore;
      break;
    case Handler::stBulk:
      run = runBulkStore;
      break;
    case Handler::prefetch:
    case Handler::discard:
    case Handler::createpolicy:
      run = runHint;
      break;
    case Handler::cvta:
    case Handler::cvtaTo:
    case Handler::isspacep:
      run = runAddress;
      break;
    case Handler::mapa:
    case Handler::getctarank:
      run = runCluster;
      break;
    case Handler::mov:
      run = row.name == "mov_b128" ? runWideMove : nullptr;
      break;
    default:
      break;
    }
    if (run)
      for (const Form &form : formsOf(row, session.perRow, session.random))
        run(session, form);
  }
}

} // namespace tilewright::vgpu::forms
