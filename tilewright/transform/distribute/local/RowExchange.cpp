#include "tilewright/transform/distribute/local/RowExchange.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tilewright::distribute {
namespace {

/// A piece that is sent: an edge of a bipartite multigraph from senders to receivers.
struct Transfer {
  int64_t source, target;
  int64_t slot; // the piece's number in the target's window
  RowExchange::Piece *piece;
};

/// Assigns a permute to each transfer, such that no two transfers of a permute have the same source
/// or target.
using Coloring = std::vector<int>;

/// Uses one permute for each key, and an additional one if a device would send twice in it.
/// Receivers never get two transfers with the same key.
template <class Key> Coloring byKey(const std::vector<Transfer> &transfers, Key keyOf) {
  Coloring colors;
  std::map<std::pair<int64_t, int64_t>, int> permutes; // of a key and the number of its permute
  std::map<std::pair<int64_t, int64_t>, int64_t> sent; // by key and source
  for (const Transfer &transfer : transfers) {
    const int64_t key = keyOf(transfer), turn = sent[{key, transfer.source}]++;
    colors.push_back(
        permutes.try_emplace({key, turn}, static_cast<int>(permutes.size())).first->second);
  }
  return colors;
}

/// Uses as few permutes as the device that sends or receives most needs (König's theorem): if the
/// two ends of a transfer have no free permute in common, two permutes are swapped along a path.
Coloring byDegree(const std::vector<Transfer> &transfers, size_t devices) {
  std::vector<int64_t> out(devices), in(devices);
  int64_t degree = 0;
  for (const Transfer &transfer : transfers)
    degree = std::max({degree, ++out[static_cast<size_t>(transfer.source)],
                       ++in[static_cast<size_t>(transfer.target)]});
  constexpr int none = -1;
  const auto colorCount = static_cast<size_t>(degree);
  // The transfer of each permute at each sender, then at each receiver.
  std::vector<std::vector<int>> at(2 * devices, std::vector<int>(colorCount, none));
  auto source = [&](int transfer) {
    return static_cast<size_t>(transfers[static_cast<size_t>(transfer)].source);
  };
  auto target = [&](int transfer) {
    return devices + static_cast<size_t>(transfers[static_cast<size_t>(transfer)].target);
  };
  auto freeAt = [&](size_t node) {
    return static_cast<size_t>(std::find(at[node].begin(), at[node].end(), none) -
                               at[node].begin());
  };
  Coloring colors(transfers.size());
  // Process long pieces first, so that they share permutes.
  std::vector<int> order(transfers.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int>(i);
  auto rowsOfTransfer = [&](int i) { return transfers[static_cast<size_t>(i)].piece->rows; };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(-rowsOfTransfer(a), a) < std::pair(-rowsOfTransfer(b), b);
  });
  for (int added : order) {
    const size_t color = freeAt(source(added)), other = freeAt(target(added));
    // Free `color` at the target: swap it with `other` along the path that begins there.
    std::vector<int> path;
    size_t node = target(added), next = color;
    while (at[node][next] != none) {
      const int edge = at[node][next];
      path.push_back(edge);
      node = node >= devices ? source(edge) : target(edge);
      next = next == color ? other : color;
    }
    for (int edge : path)
      at[source(edge)][static_cast<size_t>(colors[static_cast<size_t>(edge)])] =
          at[target(edge)][static_cast<size_t>(colors[static_cast<size_t>(edge)])] = none;
    auto paint = [&](int edge, size_t with) {
      at[source(edge)][with] = at[target(edge)][with] = edge;
      colors[static_cast<size_t>(edge)] = static_cast<int>(with);
    };
    for (int edge : path)
      paint(edge, colors[static_cast<size_t>(edge)] == static_cast<int>(color) ? other : color);
    paint(added, color);
  }
  return colors;
}

/// The number of rows in the longest transfer of each permute.
std::vector<int64_t> rowsOf(const std::vector<Transfer> &transfers, const Coloring &colors) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const auto color = static_cast<size_t>(colors[i]);
    rows.resize(std::max(rows.size(), color + 1));
    rows[color] = std::max(rows[color], transfers[i].piece->rows);
  }
  return rows;
}

/// The cost of an exchange: the number of rows that are sent, and the number of permutes.
std::pair<int64_t, size_t> costOf(const std::vector<Transfer> &transfers, const Coloring &colors) {
  int64_t sum = 0;
  const std::vector<int64_t> rows = rowsOf(transfers, colors);
  for (int64_t permute : rows)
    sum += permute;
  return {sum, rows.size()};
}

} // namespace

std::vector<RowBlock> blocksOf(int64_t shards, int64_t shardRows, int64_t first, int64_t last) {
  // Blocks outside have the size of a shard, so that windows of different devices consist of pieces
  // of the same sizes. Far away no window can have pieces like those of a window inside, and one
  // block has all rows: padding may be much longer than a shard.
  const int64_t nearRows = (4 * shards + 16) * shardRows, rows = shards * shardRows;
  std::vector<RowBlock> blocks;
  auto addOutside = [&](int64_t start, int64_t limit) {
    if (start < limit)
      blocks.push_back({start, limit - start, RowBlock::outside, 0});
  };
  addOutside(first, -nearRows);
  for (int64_t start = -nearRows; start < std::max(rows, std::min(last, rows + nearRows));
       start += shardRows)
    if (start >= 0 && start < rows)
      blocks.push_back({start, shardRows, start / shardRows, 0});
    else if (start + shardRows > first)
      addOutside(start, start + shardRows);
  addOutside(rows + nearRows, last);
  return blocks;
}

int64_t RowExchange::rowsSent() const {
  int64_t rows = 0;
  for (const Permute &permute : permutes)
    rows += permute.rows;
  return rows;
}

RowExchange planRows(std::span<const RowBlock> blocks, std::span<const int64_t> starts,
                     int64_t size, int64_t held) {
  RowExchange exchange;
  exchange.pieces.resize(starts.size());
  for (size_t device = 0; device < starts.size(); ++device) {
    const int64_t end = starts[device] + size;
    auto block = std::upper_bound(
        blocks.begin(), blocks.end(), starts[device],
        [](int64_t row, const RowBlock &block) { return row < block.start + block.rows; });
    for (int64_t row = starts[device]; row < end; ++block) {
      const int64_t skipped = row - block->start;
      const int64_t rows = std::min(end - row, block->rows - skipped);
      if (rows > 0) // an operand of a concatenate may be empty
        exchange.pieces[device].push_back(
            {block->owner, block->at + skipped, row - starts[device], rows});
      row += rows;
    }
  }

  std::vector<Transfer> transfers;
  for (size_t device = 0; device < starts.size(); ++device)
    for (size_t slot = 0; slot < exchange.pieces[device].size(); ++slot) {
      RowExchange::Piece &piece = exchange.pieces[device][slot];
      if (!piece.isOutside() && piece.owner != static_cast<int64_t>(device))
        transfers.push_back(
            {piece.owner, static_cast<int64_t>(device), static_cast<int64_t>(slot), &piece});
    }
  if (transfers.empty())
    return exchange;
  // Try slots first: if all windows are shifted by the same amount, slots of the same rows can be
  // concatenated.
  Coloring colors = byKey(transfers, [](const Transfer &transfer) { return transfer.slot; });
  for (Coloring &other : std::vector<Coloring>{
           byKey(transfers, [](const Transfer &t) { return t.target - t.source; }),
           byDegree(transfers, starts.size())})
    if (costOf(transfers, other) < costOf(transfers, colors))
      colors = std::move(other);

  const std::vector<int64_t> rows = rowsOf(transfers, colors);
  exchange.permutes.resize(rows.size());
  for (size_t permute = 0; permute < rows.size(); ++permute) {
    exchange.permutes[permute].rows = rows[permute];
    exchange.permutes[permute].from.assign(starts.size(), -1);
  }
  for (size_t i = 0; i < transfers.size(); ++i) {
    RowExchange::Permute &permute = exchange.permutes[static_cast<size_t>(colors[i])];
    transfers[i].piece->permute = colors[i];
    permute.pairs.push_back({transfers[i].source, transfers[i].target});
    // A run that would extend beyond the last row begins earlier.
    permute.from[static_cast<size_t>(transfers[i].source)] =
        std::min(transfers[i].piece->from, held - permute.rows);
  }
  return exchange;
}

} // namespace tilewright::distribute
