#include "tilewright/runtime/cpu/convolution/Columns.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

namespace tilewright::runtime::cpu {

constexpr size_t maxAxes = maxConvolutionRank - 2;

namespace {

struct Wide {
  uint64_t parts[2];
};

/// The position of a line or of a summed element: an index for each axis, and an offset for all
/// other dimensions.
struct Position {
  std::array<int64_t, maxAxes> at = {};
  int64_t offset = 0;
};

void locate(std::span<const Columns::Dimension> dimensions, int64_t index, Position &position) {
  for (size_t i = dimensions.size(); i-- > 0;) {
    const int64_t here = index % dimensions[i].size;
    index /= dimensions[i].size;
    if (dimensions[i].axis == Columns::Dimension::notSpatial)
      position.offset += here * dimensions[i].inputStride;
    else
      position.at[static_cast<size_t>(dimensions[i].axis)] = here;
  }
}

/// Most runs are short, so calls to memcpy and memset would dominate.
constexpr size_t shortBytes = 256, chunk = 16;

template <typename T> inline void fillZero(T *to, int64_t count) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  if (bytes == 0)
    return;
  if (bytes > shortBytes || bytes < chunk) {
    std::memset(static_cast<void *>(to), 0, bytes);
    return;
  }
  auto *target = reinterpret_cast<std::byte *>(to);
  for (size_t at = 0; at + chunk <= bytes; at += chunk)
    __builtin_memset(target + at, 0, chunk);
  __builtin_memset(target + bytes - chunk, 0, chunk);
}
template <typename T> inline void copyRun(const T *from, T *to, int64_t count) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  if (bytes > shortBytes || bytes < chunk) {
    if (bytes > shortBytes)
      std::memcpy(static_cast<void *>(to), from, bytes);
    else
      for (int64_t i = 0; i < count; ++i)
        to[i] = from[i];
    return;
  }
  const auto *source = reinterpret_cast<const std::byte *>(from);
  auto *target = reinterpret_cast<std::byte *>(to);
  for (size_t at = 0; at + chunk <= bytes; at += chunk)
    __builtin_memcpy(target + at, source + at, chunk);
  __builtin_memcpy(target + bytes - chunk, source + bytes - chunk, chunk);
}

/// Consecutive lines that differ only in the innermost dimension.
struct Segment {
  int64_t begin, end; // of the innermost dimension
  Position position;  // in all other dimensions
};

} // namespace

int64_t Columns::lineCount() const {
  int64_t count = 1;
  for (const Dimension &dimension : lines)
    count *= dimension.size;
  return count;
}

/// Fills tile[line][k] with runs of adjacent features; joins the runs of the last axis's taps if
/// they are contiguous in memory.
template <typename T>
void Columns::makeLines(const T *input, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
                        int64_t summedEnd, T *tile, int64_t tileStride) const {
  const int64_t lineTotal = lineCount(), features = summed.back().size;
  const size_t rank = axes.size();
  const Axis whole; // for a convolution without spatial dimensions
  const Axis &last = rank == 0 ? whole : axes.back();
  const int64_t lastStride = rank == 0 ? 0 : axisStrides.back();
  const bool isJoined = last.perTap * lastStride == features;
  const int64_t rowLength = last.taps * features;
  std::array<int64_t, maxAxes> firstTaps = {};
  int64_t row = summedBegin / rowLength;
  for (size_t d = rank > 0 ? rank - 1 : 0; d-- > 0; row /= axes[d].taps)
    firstTaps[d] = row % axes[d].taps;
  for (int64_t line = lineBegin; line < lineEnd; ++line, tile += tileStride) {
    Position position;
    locate(batch, line / lineTotal, position);
    locate(lines, line % lineTotal, position);
    const T *image = input + position.offset;
    const int64_t lastOutput = rank == 0 ? 0 : position.at[rank - 1];
    const auto [firstTap, lastTap] = last.tapsInside(lastOutput);
    T *to = tile;
    // The taps of all axes but the last, incremented from row to row.
    std::array<int64_t, maxAxes> taps = firstTaps;
    for (int64_t k = summedBegin; k < summedEnd;) {
      const int64_t begin = k == summedBegin ? summedBegin % rowLength : 0;
      const int64_t end = std::min(rowLength, begin + summedEnd - k);
      bool isInside = true;
      int64_t offset = 0;
      for (size_t d = 0; d + 1 < rank; ++d) {
        const int64_t at = axes[d].inputAt(position.at[d], taps[d]);
        isInside &= axes[d].isInside(at);
        offset += isInside ? at * axisStrides[d] : 0;
      }
      for (size_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
        if (++taps[d] < axes[d].taps)
          break;
        taps[d] = 0;
      }
      if (!isInside) {
        fillZero(to, end - begin);
      } else if (isJoined) {
        const int64_t low = std::clamp(firstTap * features, begin, end);
        const int64_t high = std::clamp(lastTap * features, low, end);
        fillZero(to, low - begin);
        if (low < high)
          copyRun(image + offset + last.inputAt(lastOutput, low / features) * lastStride +
                      low % features,
                  to + (low - begin), high - low);
        fillZero(to + (high - begin), end - high);
      } else {
        for (int64_t at = begin; at < end;) {
          const int64_t tap = at / features, feature = at % features;
          const int64_t count = std::min(features - feature, end - at);
          if (tap >= firstTap && tap < lastTap)
            copyRun(image + offset + last.inputAt(lastOutput, tap) * lastStride + feature,
                    to + (at - begin), count);
          else
            fillZero(to + (at - begin), count);
          at += count;
        }
      }
      to += end - begin;
      k += end - begin;
    }
  }
}

/// Fills tile[k][line] with runs of adjacent positions.
template <typename T>
void Columns::makeSummed(const T *input, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
                         int64_t summedEnd, T *tile, int64_t tileStride) const {
  const int64_t lineTotal = lineCount();
  const Dimension inner = lines.empty() ? Dimension() : lines.back();
  const auto innerAxis = static_cast<size_t>(inner.axis);
  const bool isSpatial = inner.axis != Dimension::notSpatial;
  const int64_t step =
      isSpatial ? axes[innerAxis].perOutput * axisStrides[innerAxis] : inner.inputStride;
  const std::span<const Dimension> outer(lines.data(), lines.empty() ? 0 : lines.size() - 1);
  Position product;
  locate(batch, lineBegin / lineTotal, product);
  const int64_t firstLine = lineBegin % lineTotal, lastLine = firstLine + lineEnd - lineBegin;
  std::vector<Segment> segments;
  for (int64_t line = firstLine; line < lastLine;) {
    const int64_t begin = line % inner.size;
    const int64_t end = std::min(inner.size, begin + lastLine - line);
    segments.push_back({begin, end, product});
    locate(outer, line / inner.size, segments.back().position);
    line += end - begin;
  }
  for (int64_t k = summedBegin; k < summedEnd; ++k, tile += tileStride) {
    Position taps;
    locate(summed, k, taps);
    int64_t insideBegin = 0, insideEnd = inner.size, first = taps.offset;
    if (isSpatial) {
      const Axis &axis = axes[innerAxis];
      const int64_t tap = taps.at[innerAxis];
      std::tie(insideBegin, insideEnd) = axis.outputsInside(tap);
      if (insideBegin < insideEnd)
        first += axis.inputAt(insideBegin, tap) * axisStrides[innerAxis] - insideBegin * step;
    }
    T *to = tile;
    for (const Segment &segment : segments) {
      bool isInside = true;
      int64_t offset = segment.position.offset + first;
      for (size_t d = 0; d < axes.size(); ++d) {
        if (isSpatial && d == innerAxis)
          continue;
        const int64_t at = axes[d].inputAt(segment.position.at[d], taps.at[d]);
        isInside &= axes[d].isInside(at);
        offset += isInside ? at * axisStrides[d] : 0;
      }
      const int64_t begin = segment.begin, end = segment.end;
      const int64_t low = isInside ? std::clamp(insideBegin, begin, end) : end;
      const int64_t high = std::clamp(insideEnd, low, end);
      fillZero(to, low - begin);
      if (step == 1)
        copyRun(input + offset + low, to + (low - begin), high - low);
      else
        for (int64_t i = low; i < high; ++i)
          to[i - begin] = input[offset + i * step];
      fillZero(to + (high - begin), end - high);
      to += end - begin;
    }
  }
}

void Columns::make(void *const *buffers, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
                   int64_t summedEnd, void *tile, int64_t tileStride) {
  const auto &columns = *static_cast<const Columns *>(buffers[1]);
  auto makeAs = [&]<typename T>(T *to) {
    const T *input = static_cast<const T *>(buffers[0]);
    if (columns.isFeatureInnermost)
      columns.makeLines(input, lineBegin, lineEnd, summedBegin, summedEnd, to, tileStride);
    else
      columns.makeSummed(input, lineBegin, lineEnd, summedBegin, summedEnd, to, tileStride);
  };
  switch (columns.elementBytes) {
  case 1:
    return makeAs(static_cast<uint8_t *>(tile));
  case 2:
    return makeAs(static_cast<uint16_t *>(tile));
  case 4:
    return makeAs(static_cast<uint32_t *>(tile));
  case 8:
    return makeAs(static_cast<uint64_t *>(tile));
  default:
    return makeAs(static_cast<Wide *>(tile));
  }
}

Prologue Columns::prologue(void *const *buffers) const {
  return {make, buffers, !isFeatureInnermost};
}

} // namespace tilewright::runtime::cpu
