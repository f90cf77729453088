// Asynchronous copies and reductions: by threads, in bulk, and of tensor boxes.
#include "test/vgpu/forms/FormKernel.h"
#include "test/vgpu/forms/Reference.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"

#include <bit>
#include <cstring>
#include <sstream>

namespace tilewright::vgpu::forms {

using machine::TensorElement;
using machine::TensorMap;
using machine::TensorSwizzle;

static std::vector<uint8_t> randomBytes(size_t count, std::mt19937_64 &random) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t &one : bytes)
    one = static_cast<uint8_t>(random());
  return bytes;
}

/// Runs kernel "k" with pointers to the bytes and to a copy of `out`, and compares.
static void runBytes(Session &session, const Form &form, const std::string &text,
                     const std::vector<uint8_t> &in, std::vector<uint8_t> out,
                     const std::vector<uint8_t> &expected, machine::LaunchConfig config,
                     const void *map = nullptr) {
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return;
  // Bulk copies require 16-byte alignment.
  auto aligned = [](std::vector<uint8_t> &bytes) {
    const size_t size = bytes.size();
    bytes.resize(size + 128);
    const size_t shift = (128 - reinterpret_cast<uintptr_t>(bytes.data()) % 128) % 128;
    std::memmove(bytes.data() + shift, bytes.data(), size);
    return bytes.data() + shift;
  };
  std::vector<uint8_t> input = in;
  const uint8_t *pin = aligned(input);
  uint8_t *pout = aligned(out);
  const void *arguments[] = {&pin, &pout, map};
  ++session.forms;
  if (!launch(session, form, *module, config, std::span(arguments, map ? 3 : 2)))
    return;
  for (size_t i = 0; i < expected.size(); ++i) {
    ++session.values;
    if (pout[i] != expected[i])
      return session.fail(form, concat("byte ", i, " is ", unsigned(pout[i]), ", expected ",
                                       unsigned(expected[i]), "\n", text));
  }
  session.coverage.addModule(module->source(), session.kernel);
}

static std::string head(const std::string &shared, const char *more = "") {
  return moduleHead() + ".visible .entry k(.param .u64 pin, .param .u64 pout" + more + ") {\n" +
         registerDeclarations() + ".shared .align 8 .b64 bar;\n" + shared +
         "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x; "
         "mov.u32 %x30, bar; setp.eq.u32 %p9, %i, 0;\n"
         "createpolicy.fractional.L2::evict_last.b64 %d299, 0f3F800000;\n";
}
/// Copies `bytes` from one address to another, 16 bytes by each thread.
static std::string copyAll(const char *load, const std::string &from, const char *store,
                           const std::string &to, size_t bytes) {
  std::string text;
  for (size_t at = 0; at < bytes; at += 512)
    text += concat(
        "mad.lo.u32 %x0, %i, 16, ", at, "; setp.lt.u32 %p1, %x0, ", bytes,
        "; cvt.u64.u32 %a0, %x0;\n", "add.u", from[1] == 'x' ? "32 %x1, %x0, " : "64 %a1, %a0, ",
        from, "; add.u", to[1] == 'x' ? "32 %x2, %x0, " : "64 %a2, %a0, ", to, ";\n@%p1 ", load,
        ".v4.b32 {%x10, %x11, %x12, %x13}, [", from[1] == 'x' ? "%x1" : "%a1", "];\n@%p1 ", store,
        ".v4.b32 [", to[1] == 'x' ? "%x2" : "%a2", "], {%x10, %x11, %x12, %x13};\n");
  return text;
}
static const std::string waitPhase0 =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%x30], 0; @!%p2 bra WAIT;\n";

/// cp.async with all sizes, complete and with a smaller source size, and each way to wait for it.
static void runThreadCopy(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Handler handler = form.row->handler;
  const bool isCopy = handler == Handler::cpAsync;
  const bool is16 = isCopy ? instruction.has(Modifier::cg) : session.random() & 1;
  const unsigned sizes[] = {4, 8, 16};
  const unsigned size = is16 ? 16 : sizes[session.random() % 3];
  const unsigned kind = isCopy ? session.random() % 4 : 0; // whole, source size, %p3, !%p3
  const unsigned part = kind == 1 ? static_cast<unsigned>(session.random() % (size + 1)) : 0;
  const std::string policy = isCopy && instruction.has(Modifier::l2CacheHint) ? ", %d299" : "";
  const std::string copy = (isCopy ? form.name()
                            : is16 ? "cp.async.cg.shared.global"
                                   : "cp.async.ca.shared.global") +
                           concat(" [%x20], [%a20], ", size,
                                  kind == 1   ? concat(", ", part)
                                  : kind == 2 ? ", %p3"
                                  : kind == 3 ? ", !%p3"
                                              : "",
                                  policy, ";\n");
  std::string wait;
  switch (handler) {
  case Handler::cpAsyncWait:
    wait = form.row->name == "cp_async_wait" ? "cp.async.commit_group;\n" + form.name() + " 0;\n"
                                             : form.name() + ";\n";
    break;
  case Handler::cpAsyncMbarrier: {
    // With .noinc the 32 arrivals of the copies are not added to the pending count, so the barrier
    // must be initialised to expect them as well.
    const bool isGeneric = instruction.find(ModifierKind::space) == Modifier::none;
    wait = form.name() + (isGeneric ? " [%a21];\n" : " [%x30];\n") +
           "mbarrier.arrive.shared.b64 _, [%x30];\n" + waitPhase0;
    break;
  }
  default:
    wait = "cp.async.commit_group;\ncp.async.wait_group 0;\n";
    break;
  }
  const unsigned arrivals = instruction.has(Modifier::noinc) ? 64 : 32;
  std::string text =
      head(".shared .align 16 .b8 tile[512];\n") +
      concat("@%p9 mbarrier.init.shared.b64 [%x30], ", arrivals, ";\nbar.sync 0;\n") +
      "mov.u32 %x21, tile; mad.lo.u32 %x20, %i, 16, %x21; mul.wide.u32 %a3, %i, 16; "
      "add.u64 %a20, %a3, %in; cvt.u64.u32 %a21, %x30; cvta.shared.u64 %a21, %a21;\n"
      "and.b32 %x22, %i, 1; setp.eq.u32 %p3, %x22, 1;\n"
      "st.shared.v4.b32 [%x20], {-1, -1, -1, -1};\n" +
      copy + wait + "bar.sync 0;\n" + copyAll("ld.shared", "%x21", "st.global", "%out", 512) +
      "ret;\n}\n";
  const std::vector<uint8_t> in = randomBytes(512, session.random);
  std::vector<uint8_t> expected(512, 255);
  for (unsigned t = 0; t < 32; ++t) {
    const bool isIgnored = (kind == 2 && t % 2 == 1) || (kind == 3 && t % 2 == 0);
    const unsigned given = kind == 1 ? part : isIgnored ? 0 : size;
    std::memset(&expected[t * 16], 0, size);
    std::memcpy(&expected[t * 16], &in[t * 16], given);
  }
  runBytes(session, form, text, in, std::vector<uint8_t>(512), expected,
           {.grid = {1, 1, 1}, .block = {32, 1, 1}});
}

// Bulk copies. 256 bytes; with reductions, elements of the type.

static void reduceBytes(const Instruction &instruction, Modifier type, std::vector<uint8_t> &to,
                        const uint8_t *from) {
  const unsigned size = ptx::bitsOf(type) / 8;
  for (size_t i = 0; i < to.size(); i += size) {
    uint64_t old = 0, b = 0, result = 0;
    std::memcpy(&old, &to[i], size);
    std::memcpy(&b, from + i, size);
    const bool isSigned = ptx::categoryOf(type) == ptx::TypeCategory::signedInteger;
    const unsigned shift = 64 - 8 * size;
    auto less = [&](uint64_t x, uint64_t y) {
      return isSigned ? static_cast<int64_t>(x << shift) < static_cast<int64_t>(y << shift) : x < y;
    };
    const bool isFloat = type == Modifier::f16 || type == Modifier::bf16 || type == Modifier::f32 ||
                         type == Modifier::f64;
    if (instruction.has(Modifier::add) && isFloat)
      result = type == Modifier::f64
                   ? std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b))
                   : roundTo(type, addOdd(valueOf(type, old), valueOf(type, b)), Mode::nearest);
    else if (isFloat)
      result = instruction.has(Modifier::min) == (valueOf(type, old) < valueOf(type, b)) ? old : b;
    else if (instruction.has(Modifier::add))
      result = old + b;
    else if (instruction.has(Modifier::min))
      result = less(b, old) ? b : old;
    else if (instruction.has(Modifier::max))
      result = less(old, b) ? b : old;
    else if (instruction.has(Modifier::inc))
      result = old >= b ? 0 : old + 1;
    else if (instruction.has(Modifier::dec))
      result = old == 0 || old > b ? b : old - 1;
    else if (instruction.has(Modifier::opAnd))
      result = old & b;
    else if (instruction.has(Modifier::opOr))
      result = old | b;
    else
      result = old ^ b;
    std::memcpy(&to[i], &result, size);
  }
}

/// Bytes that represent ordinary numbers of a type.
static std::vector<uint8_t> numbers(size_t count, Modifier type, std::mt19937_64 &random) {
  std::vector<uint8_t> bytes = randomBytes(count, random);
  const unsigned size = ptx::bitsOf(type) / 8;
  std::uniform_real_distribution<double> real(-50, 50);
  for (size_t i = 0; i < count; i += size) {
    uint64_t bits;
    if (type == Modifier::f16 || type == Modifier::bf16 || type == Modifier::f32 ||
        type == Modifier::f64)
      bits = roundTo(type, real(random), Mode::nearest);
    else if (random() & 1)
      bits = random() % 4;
    else
      continue;
    std::memcpy(&bytes[i], &bits, size);
  }
  return bytes;
}

static void runBulk(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const bool toGlobal = instruction.has(Modifier::bulkGroup);
  const bool isMulticast = instruction.has(Modifier::multicastCluster);
  const bool fromGlobal = !toGlobal && instruction.has(Modifier::global);
  const bool toCluster = !toGlobal && !fromGlobal;
  const bool isReduce = form.row->handler == Handler::cpReduce;
  const Modifier type = isReduce ? instruction.type() : Modifier::b32;
  const std::string policy = instruction.has(Modifier::l2CacheHint) ? ", %d299" : "";
  const std::vector<uint8_t> in = numbers(256, type, session.random);
  std::vector<uint8_t> old = numbers(512, type, session.random);
  std::string text = head(".shared .align 128 .b8 from[256];\n.shared .align 128 .b8 to[256];\n") +
                     "mov.u32 %x20, from; mov.u32 %x21, to; mov.u32 %x22, %cluster_ctarank; "
                     "mul.wide.u32 %a20, %x22, 256;\n";
  // Each block of a cluster of two writes the bytes it received to its half of the result.
  text += "add.u64 %a21, %out, %a20;\n" + copyAll("ld.global", "%in", "st.shared", "%x20", 256) +
          copyAll("ld.global", "%a21", "st.shared", "%x21", 256) +
          "@%p9 mbarrier.init.shared.b64 [%x30], 1;\nfence.mbarrier_init.release.cluster;\n"
          "fence.proxy.async;\nbar.sync 0;\nbarrier.cluster.arrive; barrier.cluster.wait;\n";
  std::vector<uint8_t> expected = old;
  auto apply = [&](size_t half) {
    std::vector<uint8_t> part(old.begin() + static_cast<ptrdiff_t>(256 * half),
                              old.begin() + static_cast<ptrdiff_t>(256 * half + 256));
    if (isReduce)
      reduceBytes(instruction, type, part, in.data());
    else
      part = in;
    std::copy(part.begin(), part.end(), expected.begin() + static_cast<ptrdiff_t>(256 * half));
  };
  if (toGlobal) {
    // Each block copies from its own memory to its half of the result.
    text += "@!%p9 bra DONE;\n" + form.name() + " [%a21], [%x20], 256" + policy +
            ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nDONE:\n";
    apply(0), apply(1);
  } else {
    // Block 0 copies: to itself, to both blocks, or to block 1.
    const bool hitsBoth = isMulticast;
    const unsigned target = toCluster ? 1 : 0;
    text += concat("mapa.shared::cluster.u32 %x24, %x21, ", target,
                   "; mapa.shared::cluster.u32 %x25, %x30, ", target,
                   "; setp.eq.u32 %p4, %x22, 0; setp.eq.and.u32 %p5, %i, 0, %p4;\n");
    // The receiving block expects the bytes.
    text += concat("setp.eq.u32 %p6, %x22, ", target, "; setp.eq.and.u32 %p7, %i, 0, %p6;\n",
                   hitsBoth ? "mov.pred %p7, %p9;\n" : "",
                   "@%p7 mbarrier.arrive.expect_tx.shared.b64 _, [%x30], 256;\n");
    const bool isCta = instruction.has(Modifier::sharedCta) && fromGlobal;
    // A multicast writes to the same offset in every block.
    const std::string to = isCta || isMulticast ? "[%x21]" : "[%x24]",
                      bar = isCta || isMulticast ? "[%x30]" : "[%x25]";
    text += "@%p5 " + form.name() + " " + to + ", " + (fromGlobal ? "[%in]" : "[%x20]") +
            ", 256, " + bar + (isMulticast ? ", %h1" : "") + policy + ";\n";
    if (isMulticast)
      text.insert(text.find("@%p5 "), "mov.b16 %h1, 3;\n");
    text += (hitsBoth ? std::string() : "@!%p6 bra DONE;\n") + waitPhase0 +
            copyAll("ld.shared", "%x21", "st.global", "%a21", 256) + (hitsBoth ? "" : "DONE:\n");
    apply(target);
    if (hitsBoth)
      apply(1);
  }
  text += "barrier.cluster.arrive; barrier.cluster.wait;\nret;\n}\n";
  runBytes(session, form, text, in, old, expected,
           {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}});
}

/// st.async and red.async into the other block of a cluster.
static void runStoreAsync(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Modifier type = instruction.type();
  const unsigned bits = ptx::bitsOf(type);
  const Modifier vector = instruction.find(ModifierKind::vector);
  const unsigned count = vector == Modifier::v2 ? 2 : vector == Modifier::v4 ? 4 : 1;
  const unsigned bytes = bits / 8 * count;
  const bool isReduce = form.row->handler == Handler::redAsync;
  const std::vector<uint8_t> in = numbers(size_t(bytes) * 32, type, session.random);
  std::vector<uint8_t> old = numbers(size_t(bytes) * 32, type, session.random);
  const bool isGeneric = instruction.find(ModifierKind::space) == Modifier::none;
  std::ostringstream text;
  text << head(concat(".shared .align 16 .b8 to[", bytes * 32, "];\n"))
       << "mov.u32 %x21, to; mov.u32 %x22, %cluster_ctarank;\n"
       << copyAll("ld.global", "%out", "st.shared", "%x21", size_t(bytes) * 32)
       << "@%p9 mbarrier.init.shared.b64 [%x30], 1;\n@%p9 mbarrier.arrive.expect_tx.shared.b64 _, "
          "[%x30], "
       << bytes * 32 << ";\nfence.mbarrier_init.release.cluster;\n"
       << "barrier.cluster.arrive; barrier.cluster.wait;\n"
       << "setp.ne.u32 %p4, %x22, 0; @%p4 bra RECEIVE;\n"
       << "mad.lo.u32 %x23, %i, " << bytes << ", %x21; mapa.shared::cluster.u32 %x24, %x23, 1; "
       << "mapa.shared::cluster.u32 %x25, %x30, 1; mul.wide.u32 %a3, %i, " << bytes
       << "; add.u64 %a3, %a3, %in;\n"
          // Generic addresses of the other block.
          "cvt.u64.u32 %a4, %x23; cvta.shared.u64 %a4, %a4; mapa.u64 %a4, %a4, 1; "
          "cvt.u64.u32 %a5, %x30; cvta.shared.u64 %a5, %a5; mapa.u64 %a5, %a5, 1;\n";
  std::string values = count > 1 ? "{" : "";
  for (unsigned i = 0; i < count; ++i) {
    text << "ld.global.b" << bits << " " << registerName(bits, i + 1) << ", [%a3+" << i * bits / 8
         << "];\n";
    values += (i ? ", " : "") + registerName(bits, i + 1);
  }
  values += count > 1 ? "}" : "";
  text << form.name() << (isGeneric ? " [%a4], " : " [%x24], ") << values
       << (isGeneric ? ", [%a5];\n" : ", [%x25];\n") << "bra END;\nRECEIVE:\n"
       << waitPhase0 << copyAll("ld.shared", "%x21", "st.global", "%out", size_t(bytes) * 32)
       << "END:\nbarrier.cluster.arrive; barrier.cluster.wait;\nret;\n}\n";
  std::vector<uint8_t> expected = old;
  if (isReduce)
    reduceBytes(instruction, type, expected, in.data());
  else
    expected = in;
  runBytes(session, form, text.str(), in, old, expected,
           {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}});
}

// Tensors.

namespace {
struct TensorCase {
  TensorMap map;
  unsigned rank = 1, size = 4;
  int start[5] = {};
  std::vector<std::array<int64_t, 5>> rows; // where the rows of the box begin, as coordinates
  std::string position, offsets;            // operands
  size_t boxBytes = 0;

  TensorCase(unsigned rank, TensorElement element, bool mayBeNegative, std::mt19937_64 &random)
      : rank(rank), size(machine::groupOf(element).inGlobal) {
    static constexpr unsigned sizes[] = {21, 5, 4, 3, 2}, boxes[] = {16, 3, 2, 2, 2};
    map.rank = rank;
    map.element = element;
    static constexpr TensorSwizzle swizzles[] = {TensorSwizzle::none,    TensorSwizzle::bytes32,
                                                 TensorSwizzle::bytes64, TensorSwizzle::bytes128,
                                                 TensorSwizzle::atoms32, TensorSwizzle::atoms64};
    map.swizzle = swizzles[random() % std::size(swizzles)];
    // A row of the box must fit the span of the swizzle.
    const unsigned span = map.swizzle == TensorSwizzle::none      ? 256
                          : map.swizzle == TensorSwizzle::bytes32 ? 32
                          : map.swizzle == TensorSwizzle::bytes64 ? 64
                                                                  : 128;
    uint64_t stride = (uint64_t(sizes[0]) * size + 15) / 16 * 16;
    for (unsigned i = 0; i < rank; ++i) {
      map.size[i] = sizes[i];
      map.box[i] = i == 0 ? std::min(boxes[0], span / size) : boxes[i];
      map.stride[i] = i == 0 ? size : stride;
      if (i > 0)
        stride *= sizes[i];
      const int least = mayBeNegative ? -2 : 0;
      start[i] = least + static_cast<int>(random() % (sizes[i] + 2));
    }
    size_t count = 1;
    for (unsigned i = 1; i < rank; ++i)
      count *= map.box[i];
    for (size_t r = 0; r < count; ++r) {
      std::array<int64_t, 5> row{start[0]};
      size_t rest = r;
      for (unsigned i = 1; i < rank; ++i) {
        row[i] = start[i] + static_cast<int64_t>(rest % map.box[i]);
        rest /= map.box[i];
      }
      rows.push_back(row);
    }
    finish(std::span(start, rank));
  }
  void finish(std::span<const int> coordinates) {
    boxBytes = rows.size() * map.box[0] * size;
    position = list(coordinates);
  }
  static std::string list(std::span<const int> values) {
    std::string text;
    for (int value : values)
      text += concat(text.empty() ? "{" : ", ", value);
    return text + "}";
  }
  /// Four rows of the matrix, some of them outside and some equal.
  void chooseRows(std::mt19937_64 &random, bool areDistinct) {
    map.box[1] = 1;
    rows.clear();
    int coordinates[5] = {start[0]};
    for (int i = 1; i < 5; ++i) {
      coordinates[i] = areDistinct ? (start[1] + i) % 6 : static_cast<int>(random() % 8) - 1;
      rows.push_back({start[0], coordinates[i]});
    }
    finish(coordinates);
  }
  /// Pixels as im2col enumerates them.
  void walkPixels(machine::TensorMode mode, bool isStore, std::mt19937_64 &random) {
    using enum machine::TensorMode;
    const bool isWide = mode != im2col;
    map.mode = mode;
    if (isWide && map.swizzle != TensorSwizzle::bytes128 && map.swizzle != TensorSwizzle::atoms32) {
      map.swizzle = TensorSwizzle::bytes64;
      map.box[0] = std::min(map.box[0], 64 / size);
    }
    map.pixels = mode == im2colW128 ? 7 : 1 + static_cast<uint32_t>(random() % 40);
    int64_t first[3] = {}, last[3] = {}, shift[3] = {};
    int steps[3] = {1, 1, 1};
    for (unsigned i = 0; i < rank - 2; ++i) {
      const int extent = static_cast<int>(map.size[i + 1]);
      map.lower[i] = static_cast<int>(random() % 2) - (isStore ? 0 : 1);
      map.upper[i] = static_cast<int>(random() % 2) - 1 + (isStore ? 0 : 1);
      steps[i] = 1 + static_cast<int>(random() % 2);
      map.step[i + 1] = static_cast<uint32_t>(steps[i]);
      first[i] = map.lower[i];
      last[i] = extent - 1 + map.upper[i];
      start[i + 1] = map.lower[i] + static_cast<int>(random() % (last[i] - first[i] + 1));
      if (isWide && i == 0 && random() % 4 == 0)
        start[1] = map.lower[0] - 1; // may begin left of the box
    }
    start[rank - 1] = static_cast<int>(random() % map.size[rank - 1]);
    std::vector<int> values;
    for (unsigned i = 0; i < (isWide ? 2 : rank - 2); ++i)
      values.push_back(static_cast<int>(random() % 3));
    if (mode == im2colW128)
      values[0] = 0;
    for (size_t i = 0; i < values.size() && !isWide; ++i)
      shift[i] = isStore ? 0 : values[i];
    size_t count = mode == im2colW128 ? 128 : map.pixels;
    if (isWide) {
      count += static_cast<size_t>(values[0]);
      shift[0] = values[1];
      for (unsigned i = 1; i < rank - 2; ++i) // one row of each image
        first[i] = last[i] = start[i + 1];
    }
    if (!isStore)
      offsets = ", " + list(values);
    rows.clear();
    const unsigned h = rank > 3 ? 2 : 0, d = rank > 4 ? 3 : 0, n = rank - 1; // 0: not there
    int64_t w0 = start[1], h0 = h ? start[h] : 0, d0 = d ? start[d] : 0;
    for (int64_t image = start[n];; ++image) {
      for (int64_t z = d0; z <= last[2]; z += steps[2]) {
        for (int64_t y = h0; y <= last[1]; y += steps[1]) {
          for (int64_t x = w0; x <= last[0]; x += steps[0]) {
            if (rows.size() == count)
              return finish(std::span(start, rank));
            std::array<int64_t, 5> row{start[0], x + shift[0]};
            if (h)
              row[h] = y + shift[1];
            if (d)
              row[d] = z + shift[2];
            row[n] = image;
            rows.push_back(row);
          }
          w0 = first[0];
        }
        h0 = first[1];
      }
      d0 = first[2];
    }
  }
  size_t tensorBytes() const {
    return rank == 1 ? 352 : static_cast<size_t>(map.stride[rank - 1] * map.size[rank - 1]);
  }
  /// Calls f(index in the box, index in the tensor or -1) for every element.
  template <typename F> void eachElement(F f) const {
    const size_t count = boxBytes / size;
    for (size_t i = 0; i < count; ++i) {
      const std::array<int64_t, 5> &row = rows[i / map.box[0]];
      int64_t place = 0;
      bool isInside = true;
      for (unsigned d = 0; d < rank; ++d) {
        const int64_t at = row[d] + (d == 0 ? static_cast<int64_t>(i % map.box[0]) : 0);
        isInside = isInside && at >= 0 && at < static_cast<int64_t>(map.size[d]);
        place += at * static_cast<int64_t>(map.stride[d]);
      }
      f(swizzled(i * size), isInside ? place : -1);
    }
  }
  size_t swizzled(size_t at) const {
    // A line of 128 bytes; its number selects how the atoms in it are exchanged.
    const size_t line = at / 128;
    switch (map.swizzle) {
    case TensorSwizzle::none:
      return at;
    case TensorSwizzle::bytes32:
      return at ^ (line & 1) * 16;
    case TensorSwizzle::bytes64:
      return at ^ (line & 3) * 16;
    case TensorSwizzle::atoms32:
      return at ^ (line & 3) * 32;
    case TensorSwizzle::atoms64:
      return at ^ (line & 1) * 64;
    default:
      return at ^ (line & 7) * 16;
    }
  }
  /// Changes the case from a tile to the mode of the instruction.
  void follow(const Instruction &instruction, std::mt19937_64 &random) {
    using enum machine::TensorMode;
    if (instruction.has(Modifier::tileGather4) || instruction.has(Modifier::tileScatter4))
      chooseRows(random, instruction.has(Modifier::tileScatter4));
    if (instruction.has(Modifier::im2col) || instruction.has(Modifier::im2colNoOffs))
      walkPixels(im2col, instruction.has(Modifier::im2colNoOffs), random);
    if (instruction.has(Modifier::im2colW))
      walkPixels(im2colW, false, random);
    if (instruction.has(Modifier::im2colW128))
      walkPixels(im2colW128, false, random);
  }
};
} // namespace

static unsigned rankOf(const Instruction &instruction) {
  return static_cast<unsigned>(instruction.find(ModifierKind::dimension)) -
         static_cast<unsigned>(Modifier::d1) + 1;
}

/// The map is a kernel parameter; the text refers to its address as %a30.
static constexpr const char *mapParameter = ", .param .align 64 .b8 map[128]";
static const std::string mapAddress = "mov.b64 %a30, map; cvta.param.u64 %a30, %a30;\n";

/// Memory that outlives the launch, at an aligned address that the map contains.
struct TensorMemory {
  explicit TensorMemory(const std::vector<uint8_t> &bytes) : storage(bytes.size() + 128) {
    base = storage.data() + (128 - reinterpret_cast<uintptr_t>(storage.data()) % 128) % 128;
    std::memcpy(base, bytes.data(), bytes.size());
  }
  std::vector<uint8_t> storage;
  uint8_t *base;
};

static void runTensorLoad(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const bool isPair = instruction.has(Modifier::ctaGroup2); // the first block gets both signals
  const bool isMulticast = instruction.has(Modifier::multicastCluster);
  static constexpr TensorElement elements[] = {TensorElement::u8,   TensorElement::f16,
                                               TensorElement::f32,  TensorElement::u64,
                                               TensorElement::bf16, TensorElement::tf32};
  TensorCase one(rankOf(instruction), elements[session.random() % 6], true, session.random);
  one.follow(instruction, session.random);
  one.map.fillsNan =
      (one.map.element == TensorElement::f16 || one.map.element == TensorElement::f32) &&
      session.random() & 1;
  const std::vector<uint8_t> tensor = randomBytes(one.tensorBytes(), session.random);
  TensorMemory memory(tensor);
  one.map.address = reinterpret_cast<uint64_t>(memory.base);
  alignas(64) std::byte encoded[128];
  one.map.encode(encoded);
  const size_t room = (one.boxBytes + 127) / 128 * 128;
  const std::string policy = instruction.has(Modifier::l2CacheHint) ? ", %d299" : "";
  std::string text =
      head(concat(".shared .align 1024 .b8 to[", room, "];\n"), mapParameter) + mapAddress +
      "mov.u32 %x21, to; mov.u32 %x22, %cluster_ctarank; mul.wide.u32 %a20, %x22, " +
      std::to_string(room) + "; add.u64 %a21, %out, %a20;\n" +
      copyAll("ld.global", "%a21", "st.shared", "%x21", room) +
      "@%p9 mbarrier.init.shared.b64 [%x30], 1;\nfence.mbarrier_init.release.cluster;\n"
      "fence.proxy.async;\nbarrier.cluster.arrive; barrier.cluster.wait;\n" +
      "mov.b16 %h1, 3; setp.eq.u32 %p4, %x22, 0; setp.eq.and.u32 %p5, %i, 0, %p4;\n" +
      (isPair ? "@%p5 " : "@%p9 ") +
      concat("mbarrier.arrive.expect_tx.shared.b64 _, [%x30], ", one.boxBytes * (isPair ? 2 : 1),
             ";\n") +
      // Without multicast every block copies for itself.
      (isMulticast ? "@%p5 " : "@%p9 ") + form.name() + " [%x21], [%a30, " + one.position +
      "], [%x30]" + one.offsets + (isMulticast ? ", %h1" : "") + policy + ";\n" +
      (isPair ? "@!%p4 bra PEER;\n" + waitPhase0 +
                    "PEER:\nbarrier.cluster.arrive; barrier.cluster.wait;\n"
              : waitPhase0) +
      copyAll("ld.shared", "%x21", "st.global", "%a21", room) +
      "barrier.cluster.arrive; barrier.cluster.wait;\nret;\n}\n";
  const std::vector<uint8_t> old = randomBytes(2 * room, session.random);
  std::vector<uint8_t> expected = old;
  for (size_t half = 0; half < 2; ++half)
    one.eachElement([&](size_t at, int64_t place) {
      uint64_t value = 0;
      if (place >= 0)
        std::memcpy(&value, &tensor[static_cast<size_t>(place)], one.size);
      else if (one.map.fillsNan)
        value = one.size == 2 ? 0x7fff : 0x7fffffff;
      // Loads of tf32 round; NaNs stay unchanged.
      if (place >= 0 && one.map.element == TensorElement::tf32 &&
          (value & 0x7f800000) != 0x7f800000)
        value = roundTo(Modifier::tf32, valueOf(Modifier::f32, value), Mode::nearest);
      std::memcpy(&expected[half * room + at], &value, one.size);
    });
  runBytes(session, form, text, {}, old, expected,
           {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}}, encoded);
}

static void runTensorStore(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const bool isReduce = form.row->opcode.starts_with("cp.reduce");
  const bool isBits = instruction.has(Modifier::opAnd) || instruction.has(Modifier::opOr) ||
                      instruction.has(Modifier::opXor) || instruction.has(Modifier::inc) ||
                      instruction.has(Modifier::dec);
  struct Choice {
    TensorElement element;
    Modifier type;
  };
  static constexpr Choice choices[] = {{TensorElement::u32, Modifier::u32},
                                       {TensorElement::s32, Modifier::s32},
                                       {TensorElement::f16, Modifier::f16},
                                       {TensorElement::bf16, Modifier::bf16},
                                       {TensorElement::f32, Modifier::f32}};
  // There is no minimum or maximum of f32.
  const bool isAdd = instruction.has(Modifier::add) || !isReduce;
  const Choice choice = choices[isBits ? 0 : session.random() % (isAdd ? 5 : 4)];
  TensorCase one(rankOf(instruction), choice.element, false, session.random);
  one.follow(instruction, session.random);
  const std::vector<uint8_t> tensor =
      numbers(one.tensorBytes() / 16 * 16, choice.type, session.random);
  const size_t room = (one.boxBytes + 127) / 128 * 128;
  const std::vector<uint8_t> box = numbers(room, choice.type, session.random);
  TensorMemory memory(tensor);
  one.map.address = reinterpret_cast<uint64_t>(memory.base);
  alignas(64) std::byte encoded[128];
  one.map.encode(encoded);
  const std::string policy = instruction.has(Modifier::l2CacheHint) ? ", %d299" : "";
  const std::string text =
      head(concat(".shared .align 1024 .b8 from[", room, "];\n"), mapParameter) + mapAddress +
      "mov.u32 %x21, from;\n" + copyAll("ld.global", "%in", "st.shared", "%x21", room) +
      "fence.proxy.async;\nbar.sync 0;\n@!%p9 bra DONE;\n" + form.name() + " [%a30, " +
      one.position + "], [%x21]" + policy +
      ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
      "cp.async.bulk.wait_group 0;\nDONE:\nbar.sync 0;\nld.param.u64 %a31, [map];\n" +
      copyAll("ld.global", "%a31", "st.global", "%out", tensor.size()) + "ret;\n}\n";
  std::vector<uint8_t> expected = tensor;
  one.eachElement([&](size_t at, int64_t place) {
    if (place < 0)
      return;
    std::vector<uint8_t> element(&expected[static_cast<size_t>(place)],
                                 &expected[static_cast<size_t>(place)] + one.size);
    if (isReduce)
      reduceBytes(instruction, choice.type, element, &box[at]);
    else
      std::memcpy(element.data(), &box[at], one.size);
    std::memcpy(&expected[static_cast<size_t>(place)], element.data(), one.size);
  });
  runBytes(session, form, text, box, std::vector<uint8_t>(tensor.size()), expected,
           {.grid = {1, 1, 1}, .block = {32, 1, 1}}, encoded);
}

/// Prefetches of bulk memory and tensors change nothing.
static void runPrefetch(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const std::vector<uint8_t> in = randomBytes(512, session.random);
  const std::string policy = instruction.has(Modifier::l2CacheHint) ? ", %d299" : "";
  std::string operands = "[%in], 256";
  alignas(64) std::byte encoded[128] = {};
  if (form.row->handler == Handler::cpTensorPrefetch) {
    TensorCase one(rankOf(instruction), TensorElement::f32, false, session.random);
    one.follow(instruction, session.random);
    one.map.address = reinterpret_cast<uint64_t>(in.data()) / 16 * 16;
    one.map.encode(encoded);
    operands = "[%a30, " + one.position + "]" + one.offsets;
  }
  const std::string text = head("", mapParameter) + mapAddress + form.name() + " " + operands +
                           policy + ";\n" + copyAll("ld.global", "%in", "st.global", "%out", 512) +
                           "ret;\n}\n";
  runBytes(session, form, text, in, std::vector<uint8_t>(512), in,
           {.grid = {1, 1, 1}, .block = {32, 1, 1}}, encoded);
}

/// The kernel builds a tensor map from zeros, field by field, and then loads with it: covers all
/// rows of tensormap.replace, and the copy with its fence.
static void runReplace(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const std::vector<uint8_t> in = randomBytes(20 * 64, session.random);
  const bool isCopy = form.row->handler == Handler::tensormapFence;
  const std::string copy = isCopy ? form.name()
                                  : "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
                                    "release.gpu.sync.aligned";
  std::string text = head(".shared .align 128 .b8 made[128];\n.shared .align 1024 .b8 to[512];\n");
  // The map is stored after the result.
  text += "mov.u32 %x20, made; mov.u32 %x21, to; mul.lo.u32 %x22, %i, 4; add.u32 %x22, %x22, %x20; "
          "st.shared.u32 [%x22], 0; cvt.u64.u32 %a22, %x20; cvta.shared.u64 %a22, %a22;\n"
          "@%p9 mbarrier.init.shared.b64 [%x30], 1;\nbar.sync 0;\n@!%p9 bra MADE;\n";
  // A form of the row uses its own kind of address.
  auto replace = [&](const char *field, const char *type, const std::string &operands) {
    const bool isOwn = instruction.has(*ptx::findModifier(field));
    const Modifier space = isOwn ? instruction.find(ModifierKind::space) : Modifier::sharedCta;
    // The kernel builds the map in shared memory, through a shared or generic address. A form for
    // global memory is executed in addition, on a second map there.
    const bool isGeneric = space == Modifier::none;
    text += concat("tensormap.replace.tile.", field, isGeneric ? "" : ".shared::cta", ".b1024.",
                   type, " [", isGeneric ? "%a22" : "%x20", "], ", operands, ";\n");
    if (space == Modifier::global)
      text += concat("add.u64 %a23, %out, 256; tensormap.replace.tile.", field, ".global.b1024.",
                     type, " [%a23], ", operands, ";\n");
  };
  replace("global_address", "b64", "%in");
  replace("rank", "b32", "1");
  replace("global_dim", "b32", "0, 30");
  replace("global_dim", "b32", "1, 20");
  replace("box_dim", "b32", "0, 16");
  replace("box_dim", "b32", "1, 8");
  replace("element_stride", "b32", "0, 1");
  replace("element_stride", "b32", "1, 1");
  replace("global_stride", "b64", "0, 64");
  replace("elemtype", "b32", "1"); // u16
  replace("interleave_layout", "b32", "0");
  replace("swizzle_mode", "b32", "1");
  if (instruction.has(Modifier::swizzleAtomicity))
    replace("swizzle_atomicity", "b32", "1"); // of other swizzles than 128 bytes it has no effect
  replace("fill_mode", "b32", "0");
  text += "MADE:\nbar.sync 0;\nadd.u64 %a24, %out, 256;\n" + copy +
          " [%a24], [%x20], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%a24], 128;\n"
          "@%p9 mbarrier.arrive.expect_tx.shared.b64 _, [%x30], 256;\n"
          "@%p9 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
          "[%x21], [%a24, {24, 14}], [%x30];\n" +
          waitPhase0 + copyAll("ld.shared", "%x21", "st.global", "%out", 256) + "ret;\n}\n";
  std::vector<uint8_t> expected(256);
  for (size_t r = 0; r < 8; ++r)
    for (size_t c = 0; c < 16; ++c) {
      const size_t at = r * 32 + c * 2;
      if (14 + r < 20 && 24 + c < 30)
        std::memcpy(&expected[at ^ (at >> 3 & 0x10)], &in[(14 + r) * 64 + (24 + c) * 2], 2);
    }
  runBytes(session, form, text, in, std::vector<uint8_t>(512), expected,
           {.grid = {1, 1, 1}, .block = {32, 1, 1}});
}

void runAsync(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable()) {
    void (*run)(Session &, const Form &) = nullptr;
    unsigned times = 3;
    switch (row.handler) {
    case Handler::cpAsync:
    case Handler::cpAsyncCommit:
    case Handler::cpAsyncWait:
    case Handler::cpAsyncMbarrier:
      run = runThreadCopy;
      times = 12;
      break;
    case Handler::cpBulk:
    case Handler::cpReduce:
      run = runBulk;
      break;
    case Handler::stAsync:
    case Handler::redAsync:
      run = runStoreAsync;
      break;
    case Handler::cpTensorLoad:
      run = runTensorLoad;
      times = 8;
      break;
    case Handler::cpTensorStore:
      run = runTensorStore;
      break;
    case Handler::cpBulkPrefetch:
    case Handler::cpTensorPrefetch:
      run = runPrefetch;
      break;
    case Handler::tensormapReplace:
    case Handler::tensormapFence:
      run = runReplace;
      break;
    default: // commit and wait of bulks are part of the others
      break;
    }
    if (run)
      for (const Form &form : formsOf(row, session.perRow, session.random))
        for (unsigned i = 0; i < times; ++i)
          run(session, form);
  }
}

} // namespace tilewright::vgpu::forms
