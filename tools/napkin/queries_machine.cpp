// Machine facts and peaks, and the arithmetic of clocks, buses and warps.
#include <array>
#include <cmath>
#include <perfmodel/hardware/catalog/alternatives.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/warp.hpp>
#include <perfmodel/roofline.hpp>

#include "law_query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Factor of how a link or a peak is counted: 2 with both directions or with 2:4 sparsity.
constexpr double counted(std::string_view how) {
  return how == "two_way" || how == "sparse" ? 2.0 : 1.0;
}

struct fact : law_query {
  static constexpr const char* name = "fact";
  static constexpr const char* help = "One fact of an accelerator, by its name in `set`";
  static std::vector<key> keys() {
    return {accelerator_key(),
            text("fact", "name of the fact, such as dram.bandwidth or fabric.bandwidth"),
            word("counted",
                 "counting rule: one or both directions of a link; driver or marketed capacity of "
                 "a memory",
                 {"one_way", "two_way", "as_sold"})
                .otherwise("one_way"),
            count("devices", "number of devices").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    outcome<T> out;
    const T times = in.number("devices") * counted(in.text("counted"));
    const auto* sold = in.text("counted") == "as_sold" ? as_sold(in) : nullptr;
    const auto see = [&](const pm::field_path& path, const auto& x, const pm::source*,
                         pm::unit_exponents unit) {
      if (path.text() == in.text("fact")) {
        const T value = sold == nullptr ? T(x) : T(sold->value);
        out.results.push_back(
            {"value", "value", named_result("value", T(times * value), unit), unit});
      }
      return x;
    };
    pm::map_scalars<T>(in.accelerator(), see);
    if (out.results.empty()) {
      throw pm::error(
          pm::error_code::unknown_name,
          cat("fact is ", in_quotes(in.text("fact")),
              ", which the accelerator does not state; allowed: the names that napkin gpus ",
              in.text("accelerator"), " lists"));
    }
    return out;
  }

 private:
  /// The vendor's rounded figure in the catalogue; none where it has none.
  template <pm::Scalar T>
  static const pm::catalog::alternative* as_sold(const inputs<T>& in) {
    for (const pm::catalog::alternative& a : pm::catalog::alternatives) {
      if (in.chip().name.view() == a.accelerator && in.text("fact") == a.field &&
          std::string_view(a.status) == "marketing")
        return &a;
    }
    return nullptr;
  }
};

struct peak : law_query {
  static constexpr const char* name = "peak";
  static constexpr const char* help = "Peak FLOP/s of an accelerator in a format";
  static constexpr measurable_result measured[] = {result_measured<pm::flop_rate<>>(
      "flop_per_s", "measured_flop_per_s", comparison_kind::at_most)};
  static std::vector<key> keys() {
    return {accelerator_key(), format_key("format", "operand format").otherwise("bf16"),
            word("units", "compute units", {"matrix", "vector"}).otherwise("matrix"),
            word("counted", "peak with dense operands or with 2:4 sparsity", {"dense", "sparse"})
                .otherwise("dense")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto f = in.format("format");
    const auto rate = in.text("units") == "vector" ? pm::vector_peak(in.accelerator(), f)
                                                   : pm::peak(in.accelerator(), f);
    outcome<T> out;
    out.add("flop_per_s", "peak", T(counted(in.text("counted"))) * rate);
    return out;
  }
};

struct clock_peak : law_query {
  static constexpr const char* name = "clock_peak";
  static constexpr const char* help = "Peak rates from units and clock";
  static constexpr measurable_result measured[] = {
      result_measured<pm::flop_rate<>>("flop_per_s", "measured_flop_per_s",
                                       comparison_kind::at_most),
      result_measured<pm::bandwidth<>>("bytes_per_s", "measured_bytes_per_s",
                                       comparison_kind::at_most)};
  static std::vector<key> keys() {
    return {positive("units", "number of SMs, cores or cubes"),
            amount<pm::flops<>>("flop_per_clock", "FLOP per clock of one unit").otherwise("0"),
            amount<pm::bytes<>>("bytes_per_clock", "bytes per clock of one unit").otherwise("0"),
            positive_amount<pm::frequency<>>("clock_hz", "clock of the units")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T units = in.number("units");
    const auto clock = in.template amount<pm::frequency<T>>("clock_hz");
    outcome<T> out;
    if (in.plain("flop_per_clock") > 0.0) {
      out.add(
          "flop_per_s", "peak",
          pm::peak_from_clock(units, in.template amount<pm::flops<T>>("flop_per_clock"), clock));
    }
    out.add("bytes_per_s", "bandwidth",
            pm::bandwidth<T>(units * in.template amount<pm::bytes<T>>("bytes_per_clock") * clock));
    return out;
  }
};

struct bus : law_query {
  static constexpr const char* name = "bus";
  static constexpr const char* help = "Bus bandwidth from width and transfer rate";
  static constexpr measurable_result measured[] = {result_measured<pm::bandwidth<>>(
      "bytes_per_s", "measured_bytes_per_s", comparison_kind::at_most)};
  static std::vector<key> keys() {
    return {
        positive("bits", "data lines, or lanes of a link in one direction"),
        positive_amount<pm::frequency<>>("transfers_per_s", "transfers per second of each line"),
        share("coded", "data share of the line code, such as 128/130 of PCIe 3 to 5")
            .otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    outcome<T> out;
    out.add("bytes_per_s", "bandwidth",
            pm::bandwidth<T>(
                in.number("coded") *
                pm::bandwidth_from_bus(in.number("bits"),
                                       in.template amount<pm::frequency<T>>("transfers_per_s"))));
    return out;
  }
};

struct cores : law_query {
  static constexpr const char* name = "cores";
  static constexpr const char* help = "Vector lanes of an accelerator";
  static std::vector<key> keys() { return {accelerator_key()}; }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto& a = in.accelerator();
    outcome<T> out;
    const T each = pm::lanes_per_sm(a);
    out.add("lanes_per_sm", "lanes per SM", each);
    out.add("lanes", "lanes", T(each * T(a.sms.quantity().value())));
    return out;
  }
};

struct cycles : law_query {
  static constexpr const char* name = "cycles";
  static constexpr const char* help = "Time of a number of cycles";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {
        number("cycles", "number of cycles", 0.0, 1e18),
        positive_amount<pm::frequency<>>("clock_hz", "clock"),
        positive("units",
                 "units that share the work: busy cycles of one block are cycles x units / blocks")
            .otherwise("1"),
        count("blocks", "number of blocks").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T each = in.number("cycles") * in.number("units") / in.number("blocks");
    outcome<T> out;
    out.add("time_s", "time",
            pm::time_of_cycles(each, in.template amount<pm::frequency<T>>("clock_hz")));
    out.add("cycles_per_block", "cycles per block", each);
    return out;
  }
};

struct memory_access : law_query {
  static constexpr const char* name = "memory_access";
  static constexpr const char* help =
      "Memory access of one warp: sectors, bank conflicts, shuffles";
  static std::vector<key> keys() {
    return {count("stride", "elements between adjacent lanes", 1.0, 1e6).otherwise("1"),
            count("element_bytes", "bytes per element", 1.0, 16.0).otherwise("4"),
            count("row_words", "4-byte words in a row of the tile", 1.0, 1e6).otherwise("32"),
            word("layout", "layout of the tile in shared memory", {"rows", "xor_swizzled"})
                .otherwise("rows"),
            count("lanes", "lanes of a reduction", 1.0, 1e6).otherwise("32")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const int stride = in.whole("stride"), size = in.whole("element_bytes");
    outcome<T> out;
    out.add("sectors", "sectors per request", T(double(pm::sectors_per_request(stride, size))));
    out.add("amplification", "bytes moved over bytes used",
            T(pm::access_amplification(stride, size)));
    out.add(
        "ways", "ways of a bank conflict",
        T(double(pm::bank_conflict_ways(
            in.whole("row_words"),
            in.text("layout") == "rows" ? pm::tile_layout::rows : pm::tile_layout::xor_swizzled))));
    out.add("shuffles", "shuffles of a reduction",
            T(double(pm::reduction_steps(in.whole("lanes")))));
    return out;
  }
};

struct divergence : law_query {
  static constexpr const char* name = "divergence";
  static constexpr const char* help = "Warp divergence: the time of all paths taken by a warp";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {list_of(amount<pm::duration<>>("paths_s", "time of each path taken by some lane"))};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    std::vector<pm::duration<T>> paths;
    for (const T& x : all_of(in, "paths_s")) paths.push_back(pm::duration<T>::from_value(x));
    outcome<T> out;
    const auto time = pm::divergent_time(std::span<const pm::duration<T>>(paths));
    out.add("time_s", "time", time);
    return out;
  }
};

struct tiles : law_query {
  static constexpr const char* name = "tiles";
  static constexpr const char* help = "Tiles or chunks that cover a length, and their padding";
  static std::vector<key> keys() {
    return {count("length", "rows, tokens or elements"), count("tile", "tile length"),
            format_key("format", "element format, for the 16-byte alignment").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T length = in.number("length"), tile = in.number("tile");
    outcome<T> out;
    out.add("tiles", "tiles", pm::tiles_of(length, tile));
    out.add("padding", "share of padding", pm::padding_waste(length, tile));
    out.add("aligned_elements", "elements in 16 bytes",
            T(pm::aligned_elements(in.format("format"))));
    return out;
  }
};

struct storage : law_query {
  static constexpr const char* name = "storage";
  static constexpr const char* help = "Bits per stored number with its scales";
  static std::vector<key> keys() {
    return {format_key("format", "number format"),
            count("group", "numbers per scale; 0: no scales", 0.0, 1e9).otherwise("0"),
            number("zero_bits", "bits of a zero point per scale", 0.0, 64.0).otherwise("0"),
            number("scale_bits", "bits of a scale", 0.0, 64.0).otherwise("0"),
            positive("elements", "number of elements", 1e30).otherwise("1"),
            positive("ranks", "ranks that share the elements", 1e9).otherwise("1"),
            format_key("over", "format replaced by this one").otherwise("fp16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const double group = in.plain("group");
    const pm::storage_format s(in.format("format"), group > 0.0 ? group : 1.0,
                               group > 0.0 ? in.plain("scale_bits") : 0.0,
                               group > 0.0 ? in.plain("zero_bits") : 0.0);
    const double plain = bits_of(s.format);
    outcome<T> out;
    out.add("bits", "bits per number", T(s.bits()));
    out.add("overhead_bits", "  of which scales", T(s.bits() - plain));
    out.add("overhead", "scales over numbers", T(s.bits() / plain - 1.0));
    out.add("overhead_over", "scales over the replaced format",
            T((s.bits() - plain) / bits_of(in.format("over"))));
    out.add("size", "size over the replaced format", T(s.bits() / bits_of(in.format("over"))));
    out.add("compression", "compression factor", T(bits_of(in.format("over")) / s.bits()));
    out.add("bytes", "bytes per rank",
            pm::bytes<T>(in.number("elements") / in.number("ranks") * pm::lift<T>(bytes_of(s))));
    out.add("largest", "largest number of the format", T(pm::range_of(s.format).largest));
    return out;
  }
};

}  // namespace

std::vector<query> machine_queries() {
  return {declare<fact>(),  declare<peak>(),   declare<clock_peak>(),    declare<bus>(),
          declare<cores>(), declare<cycles>(), declare<memory_access>(), declare<divergence>(),
          declare<tiles>(), declare<storage>()};
}

}  // namespace napkin
