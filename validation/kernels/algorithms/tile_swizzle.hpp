// Where a tile's 16-byte pieces lie in shared memory so that ldmatrix meets no bank twice.
#pragma once

#include "host_device.hpp"

namespace perfmodel::validation {

/// Place, in 16-byte pieces, of piece `column` of row `row`, where a row has `pieces` of them, a
/// multiple of 8: the column's low three bits are XORed with the row's. The eight pieces of a column
/// in eight rows that follow one another, which ldmatrix reads at once, are then in all 32 banks.
/// Test: a bijection of the tile; eight rows of any column in eight different groups of four banks.
PERFMODEL_HOST_DEVICE constexpr int swizzled_piece(int row, int column, int pieces) {
  return row * pieces + (column ^ (row % 8));
}

}  // namespace perfmodel::validation
