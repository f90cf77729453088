#include "tilewright/vgpu/amdgcn/PrintImmediate.h"

#include "tilewright/support/Concat.h"

#include <bit>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace tilewright::vgpu::amdgcn {

std::string hexOf(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string waitcntText(uint32_t value) {
  const uint32_t vm = (value & 15) | (value >> 14 & 3) << 4, exp = value >> 4 & 7,
                 lgkm = value >> 8 & 15;
  // A counter at its maximum does not wait and is left out, unless nothing would be left.
  const bool all = vm == 63 && exp == 7 && lgkm == 15;
  std::string text;
  auto add = [&](std::string_view name, uint32_t count, uint32_t maximum) {
    if (count != maximum || all)
      text += concat(text.empty() ? "" : " ", name, "(", count, ")");
  };
  add("vmcnt", vm, 63);
  add("expcnt", exp, 7);
  add("lgkmcnt", lgkm, 15);
  return text;
}

std::string messageText(uint32_t value) {
  constexpr std::string_view names[16] = {"",
                                          "MSG_INTERRUPT",
                                          "MSG_GS",
                                          "MSG_GS_DONE",
                                          "MSG_SAVEWAVE",
                                          "MSG_STALL_WAVE_GEN",
                                          "MSG_HALT_WAVES",
                                          "MSG_ORDERED_PS_DONE",
                                          "MSG_EARLY_PRIM_DEALLOC",
                                          "MSG_GS_ALLOC_REQ",
                                          "MSG_GET_DOORBELL",
                                          "",
                                          "",
                                          "",
                                          "",
                                          "MSG_SYSMSG"};
  constexpr std::string_view geometry[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT",
                                           "GS_OP_EMIT_CUT"};
  constexpr std::string_view system[] = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "",
                                         "SYSMSG_OP_TTRACE_PC"};
  const uint32_t id = value & 15, op = value >> 4 & 7, stream = value >> 8 & 3;
  const std::string numbers =
      (value & ~0x37fu) != 0 ? concat(value) : concat("sendmsg(", id, ", ", op, ", ", stream, ")");
  if (names[id].empty())
    return numbers;
  if (id == 2 || id == 3) {
    if (op >= std::size(geometry) || (op == 0 && (id == 2 || stream != 0)))
      return numbers;
    if (op == 0)
      return concat("sendmsg(", names[id], ", ", geometry[op], ")");
    return concat("sendmsg(", names[id], ", ", geometry[op], ", ", stream, ")");
  }
  if (stream != 0)
    return numbers;
  if (id == 15)
    return op < std::size(system) && !system[op].empty()
               ? concat("sendmsg(", names[id], ", ", system[op], ")")
               : numbers;
  return op == 0 ? concat("sendmsg(", names[id], ")") : numbers;
}

std::string hwregText(uint32_t value) {
  constexpr std::string_view names[] = {"",
                                        "HW_REG_MODE",
                                        "HW_REG_STATUS",
                                        "HW_REG_TRAPSTS",
                                        "HW_REG_HW_ID",
                                        "HW_REG_GPR_ALLOC",
                                        "HW_REG_LDS_ALLOC",
                                        "HW_REG_IB_STS",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "HW_REG_SH_MEM_BASES",
                                        "HW_REG_TBA_LO",
                                        "HW_REG_TBA_HI",
                                        "HW_REG_TMA_LO",
                                        "HW_REG_TMA_HI",
                                        "HW_REG_XCC_ID",
                                        "HW_REG_SQ_PERF_SNAPSHOT_DATA",
                                        "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
                                        "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
                                        "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"};
  const uint32_t id = value & 63, offset = value >> 6 & 31, size = (value >> 11 & 31) + 1;
  const std::string name =
      id < std::size(names) && !names[id].empty() ? std::string(names[id]) : concat(id);
  if (offset == 0 && size == 32)
    return concat("hwreg(", name, ")");
  return concat("hwreg(", name, ", ", offset, ", ", size, ")");
}

std::string gprIndexText(uint32_t value) {
  constexpr std::string_view names[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (value > 15)
    return hexOf(value);
  std::string text;
  for (unsigned i = 0; i < 4; ++i)
    if (value >> i & 1)
      text += concat(text.empty() ? "" : ",", names[i]);
  return concat("gpr_idx(", text, ")");
}

/// A swizzle within groups of 32 lanes: lane = ((lane & and) | or) ^ xor.
static std::string bitmaskText(uint32_t andMask, uint32_t orMask, uint32_t xorMask) {
  constexpr uint32_t all = 31;
  const uint32_t group = all - andMask + 1;
  if (andMask == all && orMask == 0 && std::popcount(xorMask) == 1)
    return concat("swizzle(SWAP,", xorMask, ")");
  if (andMask == all && orMask == 0 && xorMask != 0 && std::has_single_bit(xorMask + 1))
    return concat("swizzle(REVERSE,", xorMask + 1, ")");
  if (group > 1 && std::has_single_bit(group) && orMask < group && xorMask == 0)
    return concat("swizzle(BROADCAST,", group, ",", orMask, ")");
  std::string text;
  for (uint32_t bit = 16; bit != 0; bit >>= 1) {
    const bool ofZero = ((orMask ^ xorMask) & bit) != 0;
    const bool ofOne = (((andMask | orMask) ^ xorMask) & bit) != 0;
    text += ofZero == ofOne ? (ofZero ? '1' : '0') : (ofZero ? 'i' : 'p');
  }
  return concat("swizzle(BITMASK_PERM,\"", text, "\")");
}

std::string swizzleText(uint32_t value) {
  if (value >= 0xe000)
    return concat("swizzle(FFT,", value & 31, ")");
  if (value >= 0xc000)
    return concat("swizzle(ROTATE,", value >> 10 & 1, ",", value >> 5 & 31, ")");
  if ((value & 0xff00) == 0x8000)
    return concat("swizzle(QUAD_PERM,", value & 3, ",", value >> 2 & 3, ",", value >> 4 & 3, ",",
                  value >> 6 & 3, ")");
  if ((value & 0x8000) == 0)
    return bitmaskText(value & 31, value >> 5 & 31, value >> 10 & 31);
  return concat(value);
}

std::string formatText(uint32_t value) {
  constexpr std::string_view data[] = {"INVALID",     "8",          "16",          "8_8",
                                       "32",          "16_16",      "10_11_11",    "11_11_10",
                                       "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
                                       "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
  constexpr std::string_view number[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                         "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  const uint32_t dataFormat = value & 15, numberFormat = value >> 4;
  std::string text;
  if (dataFormat != 1)
    text = concat("BUF_DATA_FORMAT_", data[dataFormat]);
  if (numberFormat != 0)
    text += concat(text.empty() ? "" : ",", "BUF_NUM_FORMAT_", number[numberFormat]);
  return text.empty() ? text : concat(" format:[", text, "]");
}

std::string dppText(uint32_t pattern) {
  if (pattern <= 0xff)
    return concat("quad_perm:[", pattern & 3, ",", pattern >> 2 & 3, ",", pattern >> 4 & 3, ",",
                  pattern >> 6 & 3, "]");
  constexpr std::string_view shifts[] = {"row_shl:", "row_shr:", "row_ror:"};
  constexpr std::string_view waves[] = {"wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1"};
  constexpr std::string_view rows[] = {"row_mirror", "row_half_mirror", "row_bcast:15",
                                       "row_bcast:31"};
  if (pattern < 0x130)
    return concat(shifts[(pattern >> 4) - 0x10], pattern & 15);
  if (pattern < 0x140)
    return std::string(waves[pattern >> 2 & 3]);
  if (pattern < 0x150)
    return std::string(rows[pattern & 3]);
  return concat("row_newbcast:", pattern & 15);
}

} // namespace tilewright::vgpu::amdgcn
