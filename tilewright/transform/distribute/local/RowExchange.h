// RowExchange: which rows of a sharded dimension are sent to which device, and in which permutes.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_ROWEXCHANGE_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_ROWEXCHANGE_H

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tilewright::distribute {

/// Rows [start, start + rows) of a dimension; `owner` holds them from its own row `at` on. Devices
/// are numbered by their coordinate along the axes that shard the dimension.
struct RowBlock {
  static constexpr int64_t outside = -1; // the owner of rows beyond the dimension

  int64_t start, rows, owner, at;
};

/// Divides a dimension into blocks of equal shards, and adds as many blocks on each side as [first,
/// last) needs: of the size of a shard next to the dimension, and one of any size beyond these.
std::vector<RowBlock> blocksOf(int64_t shards, int64_t shardRows, int64_t first, int64_t last);

/// How each device gets a window of rows from the devices that hold them. Pure data: Halo emits it.
struct RowExchange {
  static constexpr int own = -1; // a piece that does not travel

  /// `rows` rows of a window, from row `to` on.
  struct Piece {
    int64_t owner, from, to, rows;
    int permute = own;

    bool isOutside() const { return owner == RowBlock::outside; }
  };
  /// A collective_permute: each device sends at most one run of rows, and receives at most one.
  struct Permute {
    int64_t rows = 0;                               // the longest piece
    std::vector<std::pair<int64_t, int64_t>> pairs; // source and target
    std::vector<int64_t> from; // the first row that each device sends; -1 if it sends none
  };

  std::vector<std::vector<Piece>> pieces; // of each device, in order; together its window
  std::vector<Permute> permutes;

  /// The number of rows that a device sends if it takes part in every permute.
  int64_t rowsSent() const;
};

/// Device `c` gets rows [starts[c], starts[c] + size). `blocks` are in order and without gaps,
/// and cover every window; each device holds `held` rows in total. Of three ways to collect pieces
/// in permutes, the one that sends the fewest rows is chosen.
RowExchange planRows(std::span<const RowBlock> blocks, std::span<const int64_t> starts,
                     int64_t size, int64_t held);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_ROWEXCHANGE_H
