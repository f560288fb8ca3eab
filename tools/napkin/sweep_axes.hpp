// Axes of a sweep: the values of one key of a query, or of one fact of its accelerator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "query.hpp"

namespace napkin {

/// Kind of name that an axis varies.
enum class axis_kind {
  key,   ///< key of the query
  fact,  ///< fact of the accelerator, as in --set
  mode,  ///< bound or calibrated
  model  ///< number of the model file: model.layers
};

/// Values of one key or fact. A number is in base units (s, B, B/s), a text as it was written.
struct sweep_axis {
  std::string name{};
  axis_kind kind = axis_kind::key;
  std::size_t key = 0;  ///< position of the key in the query
  perfmodel::unit_exponents unit{};
  std::vector<json> values{};
  /// Whether a value changes a number of the request only, not its accelerator or calibration.
  bool plain_number = false;
};

/// The axis of an --over: "batch=1..256:x2", "batch=1..256:4", "dram.bandwidth=4TB/s..10TB/s:7",
/// "context=1k,8k,32k".
///
/// LO..HI:N are N values v_i = LO + (HI - LO) i / (N - 1), with both ends. LO..HI:xF are LO, LO F,
/// LO F^2, ... up to HI, which is among them where a power meets it within 1e-9. Values are rounded
/// to 15 digits: the third of 0.1..0.5:5 is 0.3. For a whole-number key those of LO..HI:N are
/// whole too: 1..8:4 is 1, 3, 6, 8.
///
/// Errors: unknown_key for a name that is neither a key nor a fact, wrong_type for another form,
/// out_of_range for a value that the key refuses, also for a fraction of a whole-number key.
sweep_axis parse_axis(const query& asked, std::string_view text);

/// Throws missing_key without an axis, inconsistent for two axes of one name and for a key that is
/// in the request too.
void check_axes(const json& base, const std::vector<sweep_axis>& axes);

/// Number of points of the grid. Throws out_of_range above 10^10.
std::uint64_t points_of(const std::vector<sweep_axis>& axes);

/// Positions on the axes of a point; the first axis varies slowest.
std::vector<std::size_t> place_of(const std::vector<sweep_axis>& axes, std::uint64_t point);

/// The request at a place: its keys, facts and mode with the values of the axes.
json request_at(const json& base, const std::vector<sweep_axis>& axes,
                const std::vector<std::size_t>& place);

/// First point and number of points of shard i of n, i from 1; shards 1 to n in order are all.
struct point_range {
  std::uint64_t first = 0, count = 0;
};
point_range shard_of(std::uint64_t points, std::uint64_t i, std::uint64_t n);
/// "3/8" as {3, 8}. Throws wrong_type.
std::pair<std::uint64_t, std::uint64_t> parse_shard(std::string_view text);

}  // namespace napkin
