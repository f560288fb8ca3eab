// Table of likely errors in printed numbers, which misprint_search.hpp searches.
#pragma once

#include <array>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

/// Place of the error: the result, a number or a named value among the inputs of the law, or a part
/// of the claim (the facts that it sets, the result that it subtracts).
enum class misprint_place { result, number, word, part };

/// Kind of change.
/// Numbers: times or divided by an amount, plus or minus it, set to it, set to another input,
/// omitted. Named values, and numbers with alternatives: another one. Formats: the result of
/// another format, times the ratio of their bits. Results: truncated, inverted, rounded to a power
/// of ten.
enum class misprint_change {
  times,
  plus,
  becomes,
  as_input,
  left_out,
  another,
  by_bits,
  cut,
  inverted,
  power_of_ten
};

/// One kind of error. `inputs` are the input names it applies to, separated by commas; "" means
/// any.
struct misprint {
  const char* name = "";
  misprint_place place = misprint_place::result;
  misprint_change change = misprint_change::times;
  double amount = 0.0;
  const char* inputs = "";
  const char* other = "";    ///< input that replaces this one, for as_input
  unit_exponents unit{};     ///< powers that the unit of the result must have, where not 0
  bool few_values = false;   ///< few possible values: valid for ranges and for rounded claims too
  bool last_resort = false;  ///< explains many numbers: used where nothing else explains a claim
};

namespace detail {
inline constexpr unit_exponents any_unit{};
inline constexpr unit_exponents of_bytes{{0, 1}};
inline constexpr unit_exponents of_bandwidth{{-1, 1}};
inline constexpr unit_exponents of_flop{{0, 0, 1}};
}  // namespace detail

/// Errors in the order of their likelihood; of two that explain a number the first is reported.
/// Each is searched in both directions. *Sources:* errors in published texts, listed in
/// docs/laws/audit.md.
inline constexpr std::array misprints = {
    misprint{"cut, not rounded", misprint_place::result, misprint_change::cut},
    // Conventions: another way to count the same quantity.
    misprint{"sparse for dense", misprint_place::result, misprint_change::times, 2.0, "", "",
             detail::of_flop},
    misprint{"sparse for dense", misprint_place::number, misprint_change::times, 2.0,
             "ridge_flop_per_byte"},
    misprint{"two-way for one-way", misprint_place::result, misprint_change::times, 2.0, "", "",
             detail::of_bandwidth},
    misprint{"two-way for one-way", misprint_place::number, misprint_change::times, 2.0,
             "link_bytes_per_s,network_bytes_per_s"},
    misprint{"bits for bytes", misprint_place::result, misprint_change::times, 8.0, "", "",
             detail::of_bytes},
    misprint{"GB for GiB", misprint_place::result, misprint_change::times, 1.073741824, "", "",
             detail::of_bytes},
    misprint{"another convention of counting",
             misprint_place::word,
             misprint_change::another,
             0.0,
             "counted",
             "",
             {},
             true},
    misprint{"both phases for one", misprint_place::result, misprint_change::times, 2.0, "", "",
             detail::of_bytes},
    misprint{"another result of the same law", misprint_place::word, misprint_change::another, 0.0,
             "key"},
    misprint{"the whole for the part", misprint_place::part, misprint_change::left_out, 0.0,
             "minus"},
    misprint{"the data sheet's for what was measured", misprint_place::part,
             misprint_change::left_out, 0.0, "set"},
    // A wrong entry looked up.
    misprint{"the wrong format's peak", misprint_place::word, misprint_change::another, 0.0,
             "format,activation_format", "", detail::of_flop},
    misprint{"the wrong units' peak", misprint_place::word, misprint_change::another, 0.0, "units"},
    misprint{"the wrong format", misprint_place::word, misprint_change::another, 0.0,
             "format,activation_format,weight_format,kv_format,over"},
    misprint{"another algorithm", misprint_place::word, misprint_change::another, 0.0,
             "algorithm,layout,how,causal,fused"},
    misprint{"another model", misprint_place::number, misprint_change::another, 0.0,
             "parameters,elements"},
    misprint{"another figure in print", misprint_place::word, misprint_change::another, 0.0,
             "figure"},
    misprint{"another format's peak, by its width", misprint_place::word, misprint_change::by_bits,
             0.0, "format", "", detail::of_flop},
    // Decimals.
    misprint{"a factor of 10", misprint_place::result, misprint_change::times, 10.0},
    misprint{"a factor of 1000", misprint_place::result, misprint_change::times, 1000.0},
    misprint{"a factor of 100", misprint_place::result, misprint_change::times, 100.0},
    misprint{"a factor of a million", misprint_place::result, misprint_change::times, 1e6},
    misprint{"a power of ten for the number", misprint_place::result,
             misprint_change::power_of_ten},
    // One for all, and off by one.
    misprint{"K for K - 1", misprint_place::number, misprint_change::plus, 1.0,
             "draft_length,sequences,ranks,layers,tiles,block_size,intermediates,buckets,lanes"},
    misprint{"per layer for all layers", misprint_place::number, misprint_change::becomes, 1.0,
             "layers,per_layer,launches"},
    misprint{"one device for all", misprint_place::number, misprint_change::becomes, 1.0,
             "ranks,tensor_parallel,gpus,devices,units"},
    misprint{"the limit of many ranks", misprint_place::number, misprint_change::becomes, 1e6,
             "ranks"},
    misprint{"one of them for all", misprint_place::number, misprint_change::becomes, 1.0,
             "batch,streams,sequences,tokens,blocks,access_bytes"},
    misprint{"the part for the whole", misprint_place::number, misprint_change::becomes, 1.0,
             "shares"},
    misprint{"all heads for those of the cache", misprint_place::number, misprint_change::as_input,
             0.0, "kv_heads", "query_heads"},
    misprint{"the heads of the cache for all", misprint_place::number, misprint_change::as_input,
             0.0, "query_heads", "kv_heads"},
    misprint{"a mean over those without work", misprint_place::number, misprint_change::as_input,
             0.0, "units", "blocks"},
    misprint{"counted twice", misprint_place::number, misprint_change::times, 2.0, "window_s"},
    misprint{
        "upside down", misprint_place::result, misprint_change::inverted, 0.0, "", "", {}, true},
    // Omitted inputs, and unspecific factors.
    misprint{"left out", misprint_place::number, misprint_change::left_out, 0.0},
    misprint{"a factor of 10 in an input",
             misprint_place::number,
             misprint_change::times,
             10.0,
             "",
             "",
             {},
             false,
             true},
    misprint{"half or double",
             misprint_place::result,
             misprint_change::times,
             2.0,
             "",
             "",
             {},
             false,
             true},
    misprint{"another machine's figure",
             misprint_place::number,
             misprint_change::another,
             0.0,
             "bytes_per_s,flop_per_s,link_bytes_per_s,network_bytes_per_s,memory_bytes,j_per_byte",
             "",
             {},
             false,
             true},
    misprint{"another machine",
             misprint_place::word,
             misprint_change::another,
             0.0,
             "accelerator",
             "",
             {},
             false,
             true},
};
/// Inputs with errors that occur in pairs: a link counted both ways in the formula of another
/// algorithm.
inline constexpr const char* paired_inputs[] = {
    "link_bytes_per_s", "ranks", "algorithm", "format", "units", "counted", "figure"};

}  // namespace perfmodel::inline v0_3
