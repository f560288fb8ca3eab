// Mistakes that people make between a law and the number that they print: the table that slip_search.hpp searches.
#pragma once

#include <array>
#include <perfmodel/units/named.hpp>

namespace perfmodel {

/// What was mistaken: the answer itself, a number that the law takes, a word that it takes, or a part of the
/// claim: the facts that it sets, the answer that it takes off.
enum class slip_place { answer, number, word, part };

/// How: times an amount or divided by it, the amount more or less, set to the amount, set to another
/// input of the question, or left out. Of a word, or of a number that has others: any other one; of a format:
/// the answer for another one, times how much wider that is. Of an answer besides: cut behind its last digit,
/// a quotient one over it, the next power of ten.
enum class slip_change {
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
struct slip {
  const char* name = "";
  slip_place place = slip_place::answer;
  slip_change change = slip_change::times;
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
inline constexpr std::array slips = {
    slip{"cut, not rounded", slip_place::answer, slip_change::cut},
    // Conventions: the same thing counted otherwise.
    slip{"sparse for dense", slip_place::answer, slip_change::times, 2.0, "", "", detail::of_flop},
    slip{"sparse for dense", slip_place::number, slip_change::times, 2.0, "ridge_flop_per_byte"},
    slip{"two-way for one-way", slip_place::answer, slip_change::times, 2.0, "", "",
         detail::of_bandwidth},
    slip{"two-way for one-way", slip_place::number, slip_change::times, 2.0,
         "link_bytes_per_s,network_bytes_per_s"},
    slip{"bits for bytes", slip_place::answer, slip_change::times, 8.0, "", "", detail::of_bytes},
    slip{"GB for GiB", slip_place::answer, slip_change::times, 1.073741824, "", "",
         detail::of_bytes},
    slip{"another convention of counting",
         slip_place::word,
         slip_change::another,
         0.0,
         "counted",
         "",
         {},
         true},
    slip{"both phases for one", slip_place::answer, slip_change::times, 2.0, "", "",
         detail::of_bytes},
    slip{"another answer of the same law", slip_place::word, slip_change::another, 0.0, "key"},
    slip{"the whole for the part", slip_place::part, slip_change::left_out, 0.0, "minus"},
    slip{"the data sheet's for what was measured", slip_place::part, slip_change::left_out, 0.0,
         "set"},
    // The wrong thing looked up.
    slip{"the wrong format's peak", slip_place::word, slip_change::another, 0.0,
         "format,activation_format", "", detail::of_flop},
    slip{"the wrong units' peak", slip_place::word, slip_change::another, 0.0, "units"},
    slip{"the wrong format", slip_place::word, slip_change::another, 0.0,
         "format,activation_format,weight_format,kv_format,over"},
    slip{"another algorithm", slip_place::word, slip_change::another, 0.0,
         "algorithm,layout,how,causal,fused"},
    slip{"another model", slip_place::number, slip_change::another, 0.0, "parameters,elements"},
    slip{"another figure in print", slip_place::word, slip_change::another, 0.0, "figure"},
    slip{"another format's peak, by its width", slip_place::word, slip_change::by_width, 0.0,
         "format", "", detail::of_flop},
    // Decimals.
    slip{"a factor of 10", slip_place::answer, slip_change::times, 10.0},
    slip{"a factor of 1000", slip_place::answer, slip_change::times, 1000.0},
    slip{"a factor of 100", slip_place::answer, slip_change::times, 100.0},
    slip{"a factor of a million", slip_place::answer, slip_change::times, 1e6},
    slip{"a power of ten for the number", slip_place::answer, slip_change::power_of_ten},
    // One for many, and one more or less.
    slip{"K for K - 1", slip_place::number, slip_change::plus, 1.0,
         "draft_length,sequences,ranks,layers,tiles,block_size,intermediates,buckets,lanes"},
    slip{"per layer for all layers", slip_place::number, slip_change::becomes, 1.0,
         "layers,per_layer,launches"},
    slip{"one device for all", slip_place::number, slip_change::becomes, 1.0,
         "ranks,tensor_parallel,gpus,devices,units"},
    slip{"the limit of many ranks", slip_place::number, slip_change::becomes, 1e6, "ranks"},
    slip{"one of them for all", slip_place::number, slip_change::becomes, 1.0,
         "batch,streams,sequences,tokens,blocks,access_bytes"},
    slip{"the part for the whole", slip_place::number, slip_change::becomes, 1.0, "shares"},
    slip{"all heads for those of the cache", slip_place::number, slip_change::as_input, 0.0,
         "kv_heads", "query_heads"},
    slip{"the heads of the cache for all", slip_place::number, slip_change::as_input, 0.0,
         "query_heads", "kv_heads"},
    slip{"a mean over those without work", slip_place::number, slip_change::as_input, 0.0, "units",
         "blocks"},
    slip{"counted twice", slip_place::number, slip_change::times, 2.0, "window_s"},
    slip{"upside down", slip_place::answer, slip_change::inverted, 0.0, "", "", {}, true},
    // Something forgotten.
    slip{"left out", slip_place::number, slip_change::left_out, 0.0},
    slip{"a factor of 10 in an input",
         slip_place::number,
         slip_change::times,
         10.0,
         "",
         "",
         {},
         false,
         true},
    slip{"half or double", slip_place::answer, slip_change::times, 2.0, "", "", {}, false, true},
    slip{"another machine's figure",
         slip_place::number,
         slip_change::another,
         0.0,
         "bytes_per_s,flop_per_s,link_bytes_per_s,network_bytes_per_s,memory_bytes,j_per_byte",
         "",
         {},
         false,
         true},
    slip{"another machine",
         slip_place::word,
         slip_change::another,
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
