// Mistakes that people make between a law and the number that they print: the table that misprint_search.hpp searches.
#pragma once

#include <array>
#include <perfmodel/units/named.hpp>

namespace perfmodel {

/// What was mistaken: the answer itself, a number that the law takes, a word that it takes, or a part of the
/// claim: the facts that it sets, the answer that it takes off.
enum class misprint_place { answer, number, word, part };

/// How: times an amount or divided by it, the amount more or less, set to the amount, set to another
/// input of the question, or left out. Of a word, or of a number that has others: any other one; of a format:
/// the answer for another one, times how much wider that is. Of an answer besides: cut behind its last digit,
/// a quotient one over it, the next power of ten.
enum class misprint_change {
  times,
  plus,
  becomes,
  as_input,
  left_out,
  another,
  by_width,
  cut,
  inverted,
  power_of_ten
};

/// One kind of mistake. `inputs` are the names that it is made with, with commas; "" is any.
struct misprint {
  const char* name = "";
  misprint_place place = misprint_place::answer;
  misprint_change change = misprint_change::times;
  double amount = 0.0;
  const char* inputs = "";
  const char* other = "";  ///< as_input: which
  unit_exponents unit{};   ///< of an answer that it can happen to: those powers, where not 0
  bool wide = false;       ///< of few values: in wide ranges too, and by all that rounds to it
  bool last = false;       ///< explains much: looked for where nothing else explains a claim
};

namespace detail {
inline constexpr unit_exponents any_unit{};
inline constexpr unit_exponents of_bytes{{0, 1}};
inline constexpr unit_exponents of_bandwidth{{-1, 1}};
inline constexpr unit_exponents of_flop{{0, 0, 1}};
}  // namespace detail

/// The likelier before the less likely: of two that explain a number the first is named. Each is looked
/// for in both directions. Sources: the mistakes of published texts that docs/laws/audit.md lists.
inline constexpr std::array misprints = {
    misprint{"cut, not rounded", misprint_place::answer, misprint_change::cut},
    // Conventions: the same thing counted otherwise.
    misprint{"sparse for dense", misprint_place::answer, misprint_change::times, 2.0, "", "",
             detail::of_flop},
    misprint{"sparse for dense", misprint_place::number, misprint_change::times, 2.0,
             "ridge_flop_per_byte"},
    misprint{"two-way for one-way", misprint_place::answer, misprint_change::times, 2.0, "", "",
             detail::of_bandwidth},
    misprint{"two-way for one-way", misprint_place::number, misprint_change::times, 2.0,
             "link_bytes_per_s,network_bytes_per_s"},
    misprint{"bits for bytes", misprint_place::answer, misprint_change::times, 8.0, "", "",
             detail::of_bytes},
    misprint{"GB for GiB", misprint_place::answer, misprint_change::times, 1.073741824, "", "",
             detail::of_bytes},
    misprint{"another convention of counting",
             misprint_place::word,
             misprint_change::another,
             0.0,
             "counted",
             "",
             {},
             true},
    misprint{"both phases for one", misprint_place::answer, misprint_change::times, 2.0, "", "",
             detail::of_bytes},
    misprint{"another answer of the same law", misprint_place::word, misprint_change::another, 0.0,
             "key"},
    misprint{"the whole for the part", misprint_place::part, misprint_change::left_out, 0.0,
             "minus"},
    misprint{"the data sheet's for what was measured", misprint_place::part,
             misprint_change::left_out, 0.0, "set"},
    // The wrong thing looked up.
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
    misprint{"another format's peak, by its width", misprint_place::word, misprint_change::by_width,
             0.0, "format", "", detail::of_flop},
    // Decimals.
    misprint{"a factor of 10", misprint_place::answer, misprint_change::times, 10.0},
    misprint{"a factor of 1000", misprint_place::answer, misprint_change::times, 1000.0},
    misprint{"a factor of 100", misprint_place::answer, misprint_change::times, 100.0},
    misprint{"a factor of a million", misprint_place::answer, misprint_change::times, 1e6},
    misprint{"a power of ten for the number", misprint_place::answer,
             misprint_change::power_of_ten},
    // One for many, and one more or less.
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
        "upside down", misprint_place::answer, misprint_change::inverted, 0.0, "", "", {}, true},
    // Something forgotten.
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
             misprint_place::answer,
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
/// Those that come in pairs: a link counted both ways in the formula of another algorithm.
inline constexpr const char* paired_inputs[] = {
    "link_bytes_per_s", "ranks", "algorithm", "format", "units", "counted", "figure"};

}  // namespace perfmodel
