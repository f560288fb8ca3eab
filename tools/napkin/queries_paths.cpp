// Data paths and schedules: tiles, loads, L2 windows, host transfers, slices, streams, graphs.
#include <cmath>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/schedules.hpp>
#include <perfmodel/laws/warp.hpp>
#include <perfmodel/roofline.hpp>

#include "law_query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

template <pm::Scalar T>
pm::bytes<T> bytes_each(pm::number_format f) {
  return pm::lift<T>(bytes_of(f));
}
template <pm::Scalar T>
std::vector<pm::duration<T>> times_of(inputs<T>& in, const char* name) {
  std::vector<pm::duration<T>> all;
  for (const T& x : all_of(in, name)) all.push_back(pm::duration<T>::from_value(x));
  return all;
}
template <pm::Scalar T>
int index_of(const T& x) {
  if constexpr (requires { x.value(); }) {
    return static_cast<int>(x.value());
  } else {
    return static_cast<int>(x);
  }
}
[[noreturn]] void wrong_length(const char* name, std::size_t n, const char* other, std::size_t m) {
  throw pm::error(pm::error_code::inconsistent,
                  cat(name, " has ", n, " values; allowed: ", m, ", as many as ", other));
}

struct gemm_tile : law_query {
  static constexpr const char* name = "gemm_tile";
  static constexpr const char* help =
      "Tile of a GEMM: traffic, intensity, accumulator registers, loads";
  static std::vector<key> keys() {
    return {
        count("m", "rows of the result"),
        count("n", "columns of the result"),
        count("k", "inner dimension"),
        count("tile_m", "rows of a tile", 1.0, 256.0).otherwise("128"),
        count("tile_n", "columns of a tile", 1.0, 512.0).otherwise("128"),
        count("tile_k", "inner elements per step", 8.0, 1024.0).otherwise("64"),
        count("threads", "threads of a block that accumulate", 1.0, 1024.0).otherwise("128"),
        format_key("format", "operand format").otherwise("bf16"),
        number("load_cycles", "issue cycles per load or bulk transfer", 0.0, 1e6).otherwise("4"),
        positive_amount<pm::frequency<>>("clock_hz", "SM clock").otherwise("1.83e9")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto each = bytes_each<T>(in.format("format"));
    const T rows = in.number("tile_m"), columns = in.number("tile_n"), step = in.number("tile_k");
    const T threads = in.number("threads");
    const T registers = pm::accumulator_registers(rows, columns, threads);
    const pm::bytes<T> row = step * each;
    const T loads = pm::load_instructions(pm::bytes<T>((rows + columns) * row), 16);
    const T transfers = pm::bulk_copies(rows, row) + pm::bulk_copies(columns, row);
    const auto clock = in.template amount<pm::frequency<T>>("clock_hz");
    outcome<T> out;
    out.add("bytes", "bytes below the tiles",
            pm::tile_traffic(in.number("m"), in.number("n"), in.number("k"), rows, columns, each));
    out.add("flop_per_byte", "intensity of a tile", pm::tile_intensity(rows, columns, each));
    out.add("registers", "accumulator registers per thread", registers);
    out.add("spilled_bytes", "register spills per block and use",
            pm::spilled_bytes(registers, T(pm::registers_a_thread), threads));
    const int wanted = (in.whole("tile_m") + 127) / 128 * in.whole("tile_n");
    if (wanted <= 512) {
      out.add("tensor_memory_columns", "tensor-memory columns, of 512",
              T(double(pm::tensor_memory_columns(in.whole("tile_m"), in.whole("tile_n")))));
    }
    out.add("loads", "16-byte load instructions per k step", loads);
    out.add("bulk_transfers", "TMA bulk transfers per k step", transfers);
    out.add("load_issue_s", "issue time of the loads",
            pm::issue_time(loads, in.number("load_cycles"), clock));
    out.add("bulk_issue_s", "issue time of the bulk transfers",
            pm::issue_time(transfers, in.number("load_cycles"), clock));
    return out;
  }
};

struct padded_gemm : law_query {
  static constexpr const char* name = "padded_gemm";
  static constexpr const char* help =
      "GEMM on whole tiles: padding, its time at peak, and the load width of its rows";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("m", "rows of the result"),
            count("n", "columns of the result"),
            count("k", "inner dimension, the row length in memory", 1.0, 1e9),
            format_key("format", "operand format").otherwise("bf16"),
            count("tile_m", "rows of a tile; a TPU's array has 128 x 128").otherwise("128"),
            count("tile_n", "columns of a tile").otherwise("128"),
            count("tile_k", "inner elements of a tile").otherwise("16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    const pm::number_format f = in.format("format");
    const auto padded = [&](const char* side, const char* tile) {
      return T(in.number(tile) * pm::tiles_of(in.number(side), in.number(tile)));
    };
    pm::basic_gemm<T> g{.m = in.number("m"), .n = in.number("n"), .k = in.number("k")};
    g.format = f;
    g.weights = f;
    g.output = f;
    pm::basic_gemm<T> whole = g;
    whole.m = padded("m", "tile_m");
    whole.n = padded("n", "tile_n");
    whole.k = padded("k", "tile_k");
    const auto useful = pm::roofline(in.accelerator(), g, mode);
    const auto all = pm::roofline(in.accelerator(), whole, mode);
    const int width = bits_of(f) >= 8.0
                          ? pm::aligned_width(in.whole("k"), static_cast<int>(bits_of(f) / 8.0))
                          : 1;
    const pm::bytes<T> read = pm::bytes<T>((g.m + g.n) * g.k * bytes_each<T>(f));
    outcome<T> out;
    out.add("time_s", "time of whole tiles", all.time);
    out.add("useful_s", "time without padding", useful.time);
    out.add("padding", "share of FLOP that is padding",
            T(T(1.0) - g.m * g.n * g.k / (whole.m * whole.n * whole.k)));
    out.add("load_bytes", "largest aligned load of a row", T(double(width)));
    out.add("loads", "load instructions of the operands", pm::load_instructions(read, width));
    out.add("load_ratio", "load instructions over those of aligned rows",
            T(pm::load_instructions(read, width) / pm::load_instructions(read, 16)));
    return out;
  }
};

struct gemv : law_query {
  static constexpr const char* name = "gemv";
  static constexpr const char* help =
      "Skinny GEMM by vector units or by matrix units, and where they cross";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("m", "rows: tokens of a decode step"),
            count("n", "columns of the weights"),
            count("k", "rows of the weights"),
            format_key("format", "format of weights and activations").otherwise("bf16"),
            count("tile_m", "rows that the matrix kernel computes in any case", 1.0, 1024.0)
                .otherwise("64"),
            amount<pm::duration<>>("vector_start_s", "start and end of the vector kernel")
                .otherwise("2.5e-6"),
            amount<pm::duration<>>("matrix_start_s",
                                   "start and end of the matrix kernel with its pipeline")
                .otherwise("5e-6")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const pm::number_format f = in.format("format");
    const auto& a = in.accelerator();
    const T m = in.number("m"), n = in.number("n"), k = in.number("k");
    const auto bytes = pm::bytes<T>((n * k + m * (n + k)) * bytes_each<T>(f));
    const auto read = pm::duration<T>(bytes / a.dram.bandwidth.quantity());
    const auto flop_of = [&](const T& rows) {
      return pm::flops<T>::from_value(T(T(2.0) * rows * n * k));
    };
    const auto vector_rate = pm::vector_peak(a, pm::fp32);
    const auto matrix_rate = pm::peak(a, f);
    const T rows = in.number("tile_m") * pm::tiles_of(m, in.number("tile_m"));
    const auto vector_start = in.template amount<pm::duration<T>>("vector_start_s");
    const auto matrix_start = in.template amount<pm::duration<T>>("matrix_start_s");
    const auto vector =
        pm::duration<T>(vector_start + pm::max(read, pm::duration<T>(flop_of(m) / vector_rate)));
    const auto matrix =
        pm::duration<T>(matrix_start + pm::max(read, pm::duration<T>(flop_of(rows) / matrix_rate)));
    // The vector kernel computes m rows in t(m) = 2 m n k / peak; the matrix kernel reads n k
    // weights: equal where the former is the latter and the difference of the starts.
    const auto weights =
        pm::duration<T>(pm::bytes<T>(n * k * bytes_each<T>(f)) / a.dram.bandwidth.quantity());
    const auto level = pm::duration<T>(weights + matrix_start - vector_start);
    outcome<T> out;
    out.add("time_s", "time of the quicker kernel", pm::min(vector, matrix));
    out.add("vector_s", "vector units (GEMV)", vector);
    out.add("matrix_s", "matrix units (GEMM)", matrix);
    out.add("switch_m", "rows at which they cross, some",
            T(pm::max(level, pm::duration<T>{}) * vector_rate / flop_of(T(1.0))));
    return out;
  }
};

struct l2_window : law_query {
  static constexpr const char* name = "l2_window";
  static constexpr const char* help = "L2 persistence window: hits of a hot table and their gain";
  static std::vector<key> keys() {
    return {
        accelerator_key(), positive_amount<pm::bytes<>>("hot_bytes", "bytes of the hot table"),
        amount<pm::bytes<>>("set_aside_bytes", "L2 set aside; at most three quarters of the L2"),
        share("hit_ratio", "hit ratio of the access-policy window").otherwise("1"),
        positive_amount<pm::bytes<>>("moved_bytes", "bytes read from the table")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto& a = in.accelerator();
    const auto hot = in.template amount<pm::bytes<T>>("hot_bytes");
    const auto aside = in.template amount<pm::bytes<T>>("set_aside_bytes");
    // CUDA C++ Programming Guide, L2 set-aside: 3/4 of the L2, or the device's limit.
    const double most = 0.75 * in.chip().l2.capacity.value();
    if (in.plain("set_aside_bytes") > most) {
      throw pm::error(pm::error_code::out_of_range,
                      cat("set_aside_bytes is ", in.plain("set_aside_bytes"), "; allowed: 0 to ",
                          most, ", three quarters of the L2 of ", in.text("accelerator")));
    }
    const auto moved = in.template amount<pm::bytes<T>>("moved_bytes");
    const T hits = pm::persistent_hits(hot, aside, in.number("hit_ratio"));
    const auto dram = a.dram.bandwidth.quantity();
    const auto with = pm::time_with_hits(moved, hits, a.l2.bandwidth.quantity(), dram);
    const auto without = pm::time_with_hits(moved, T(0.0), a.l2.bandwidth.quantity(), dram);
    outcome<T> out;
    out.add("hits", "hit share", hits);
    out.add("time_s", "time", with);
    out.add("gain", "time without the window over time", T(without / with));
    out.add("left_bytes", "L2 left for other traffic",
            pm::bytes<T>(a.l2.capacity.quantity() - aside));
    return out;
  }
};

struct host_copy : law_query {
  static constexpr const char* name = "host_copy";
  static constexpr const char* help = "Copy between host and device: pinned and pageable memory";
  static std::vector<key> keys() {
    return {accelerator_key(), positive_amount<pm::bytes<>>("bytes", "bytes to copy"),
            positive_amount<pm::bandwidth<>>("memcpy_bytes_per_s",
                                             "rate of the driver's copy to a pinned buffer")
                .otherwise("1e10"),
            amount<pm::duration<>>("latency_s", "latency of a copy; default: as measured on H200")
                .otherwise("2.1e-6")};  // pcie_copy_latency
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto moved = in.template amount<pm::bytes<T>>("bytes");
    const auto link = pm::host_link_share * in.accelerator().host.bandwidth.quantity();
    const auto latency = in.template amount<pm::duration<T>>("latency_s");
    const auto pinned = pm::host_copy_time(moved, link, latency);
    const auto pageable = pm::pageable_copy_time(
        moved, link, in.template amount<pm::bandwidth<T>>("memcpy_bytes_per_s"), latency);
    outcome<T> out;
    out.add("time_s", "time, pinned", pinned);
    out.add("pageable_s", "time, pageable", pageable);
    out.add("gain", "pageable over pinned", T(pageable / pinned));
    return out;
  }
};

struct selection : law_query {
  static constexpr const char* name = "selection";
  static constexpr const char* help =
      "Top-k of a vector: bytes read by radix selection and sorting";
  static std::vector<key> keys() {
    return {positive("n", "numbers: the vocabulary times the sequences"),
            format_key("format", "format of the numbers").otherwise("fp32"),
            count("digit_bits", "bits of a digit", 1.0, 32.0).otherwise("8")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto each = bytes_each<T>(in.format("format"));
    const double passes = std::ceil(bits_of(in.format("format")) / in.plain("digit_bits"));
    const auto selected = pm::selection_traffic(in.number("n"), each, in.whole("digit_bits"));
    const auto sorted = pm::bytes<T>(T(2.0 * passes) * in.number("n") * each);
    outcome<T> out;
    out.add("bytes", "bytes of a selection", selected);
    out.add("sort_bytes", "bytes of a sort", sorted);
    out.add("ratio", "sort over selection", T(sorted / selected));
    return out;
  }
};

struct special_functions : law_query {
  static constexpr const char* name = "special_functions";
  static constexpr const char* help =
      "Exponentials of a softmax next to the matrix FLOP of its attention";
  static std::vector<key> keys() {
    return {accelerator_key(), positive("n", "exponentials: scores", 1e30),
            number("flop_each", "matrix FLOP per score: 4 head_dim", 0.0, 1e9).otherwise("512"),
            format_key("format", "format of the matrix FLOP").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto& a = in.accelerator();
    const T n = in.number("n");
    const auto exponentials = pm::special_function_time(a, n);
    const auto matrix = pm::duration<T>(pm::flops<T>::from_value(T(n * in.number("flop_each"))) /
                                        pm::peak(a, in.format("format")));
    outcome<T> out;
    out.add("time_s", "time of the exponentials", exponentials);
    out.add("matrix_s", "time of the matrix FLOP", matrix);
    out.add("ratio", "exponentials over matrix", T(exponentials / matrix));
    return out;
  }
};

struct mig_slice : law_query {
  static constexpr const char* name = "mig_slice";
  static constexpr const char* help = "MIG slice of a GPU, as facts for --set";
  static std::vector<key> keys() {
    return {accelerator_key(), count("compute_slices", "compute slices, of 7", 1.0, 7.0),
            count("memory_slices", "memory slices, of 8", 1.0, 8.0),
            count("sms",
                  "SMs of the slice as nvidia-smi mig -lgip prints; default: whole pairs of each "
                  "seventh")
                .optional(),
            format_key("format", "format of the peak").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto& a = in.accelerator();
    // A slice has whole TPCs, of two SMs: 14 of an A100's 108 / 7 = 15.4 (nvidia-smi mig -lgip).
    const double seventh = 2.0 * std::floor(in.chip().sms.value() / 14.0);
    const double sms = in.has("sms") ? in.plain("sms") : seventh * in.plain("compute_slices");
    const double all = in.chip().sms.value();
    if (sms > all) {
      throw pm::error(pm::error_code::out_of_range,
                      cat("sms is ", sms, "; allowed: 1 to ", all, " of ", in.text("accelerator")));
    }
    const auto part = pm::slice_of(a, T(sms / all), T(in.number("memory_slices") / T(8.0)));
    const auto f = in.format("format");
    outcome<T> out;
    out.add("sms", "sms", T(part.sms.quantity().value()));
    out.add("flop_per_s", "peak in this format", pm::peak(part, f));
    out.add("bytes_per_s", "dram.bandwidth", pm::bandwidth<T>(part.dram.bandwidth.quantity()));
    out.add("memory_bytes", "dram.capacity", pm::bytes<T>(part.dram.capacity.quantity()));
    out.add("l2_bytes", "l2.capacity", pm::bytes<T>(part.l2.capacity.quantity()));
    out.add("idle_sms", "SMs that no slice has", T(all - 7.0 * seventh));
    return out;
  }
};

struct persistent_kernel : law_query {
  static constexpr const char* name = "persistent_kernel";
  static constexpr const char* help =
      "Persistent kernel: one launch and the longest work list, against a launch per task";
  static std::vector<key> keys() {
    return {list_of(amount<pm::duration<>>("lists_s", "work of each SM's list")),
            amount<pm::duration<>>("launch_s", "time of a launch").otherwise("5e-6"),
            count("launches", "launches that it replaces").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto lists = times_of(in, "lists_s");
    const std::span<const pm::duration<T>> all(lists);
    const auto launch = in.template amount<pm::duration<T>>("launch_s");
    const auto time = pm::persistent_time(all, launch);
    const T imbalance = pm::work_imbalance(all);
    const auto balanced = pm::duration<T>((time - launch) / imbalance);
    const auto separate = pm::duration<T>(in.number("launches") * launch + balanced);
    outcome<T> out;
    out.add("time_s", "time", time);
    out.add("imbalance", "longest list over the mean", imbalance);
    out.add("separate_s", "separate launches of balanced work", separate);
    out.add("speedup", "gain of the persistent kernel", T(separate / time));
    return out;
  }
};

struct streams : law_query {
  static constexpr const char* name = "streams";
  static constexpr const char* help = "Concurrent streams: chains of kernels that fill the GPU";
  static std::vector<key> keys() {
    return {list_of(amount<pm::duration<>>("times_s", "time of each chain alone")),
            list_of(number("filled", "share of the GPU that each chain fills", 0.0, 1.0))};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto times = times_of(in, "times_s");
    const auto filled = all_of(in, "filled");
    if (filled.size() != times.size())
      wrong_length("filled", filled.size(), "times_s", times.size());
    std::vector<pm::basic_stream_chain<T>> chains;
    pm::duration<T> serial{};
    for (std::size_t i = 0; i < times.size(); ++i) {
      chains.push_back({times[i], filled[i]});
      serial += times[i];
    }
    const auto time = pm::side_by_side(std::span<const pm::basic_stream_chain<T>>(chains));
    outcome<T> out;
    out.add("time_s", "time, concurrent", time);
    out.add("serial_s", "time, one after the other", serial);
    out.add("speedup", "gain", T(serial / time));
    return out;
  }
};

struct dependent_launch : law_query {
  static constexpr const char* name = "dependent_launch";
  static constexpr const char* help = "Programmatic dependent launch: idle time between kernels";
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("gap_s", "idle time between two kernels without it"),
            amount<pm::duration<>>("prologue_s", "work of a kernel before it waits"),
            count("kernels", "kernels of a step").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto gap = in.template amount<pm::duration<T>>("gap_s");
    const auto left = pm::dependent_gap(gap, in.template amount<pm::duration<T>>("prologue_s"));
    outcome<T> out;
    out.add("gap_left_s", "idle time between two kernels", left);
    out.add("saved_s", "saved in a step", pm::duration<T>(in.number("kernels") * (gap - left)));
    return out;
  }
};

struct graph_breaks : law_query {
  static constexpr const char* name = "graph_breaks";
  static constexpr const char* help = "Breaks of a compiled graph: regions and their CPU time";
  static std::vector<key> keys() {
    return {count("breaks", "graph breaks", 0.0, 1e9),
            amount<pm::duration<>>("region_s", "CPU time to enter a region: guards and the call")
                .otherwise("2e-5"),
            amount<pm::duration<>>("step_s", "GPU time of the step").otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T regions = pm::regions_of(in.number("breaks"));
    const auto cpu = pm::duration<T>(regions * in.template amount<pm::duration<T>>("region_s"));
    const auto gpu = in.template amount<pm::duration<T>>("step_s");
    outcome<T> out;
    out.add("regions", "regions", regions);
    out.add("time_s", "CPU time of the regions", cpu);
    out.add("exposed_s", "CPU time that the GPU waits for",
            pm::max(pm::duration<T>(cpu - gpu), pm::duration<T>{}));
    return out;
  }
};

struct memory_plan : law_query {
  static constexpr const char* name = "memory_plan";
  static constexpr const char* help = "Peak memory of tensors by their lifetimes";
  static std::vector<key> keys() {
    return {list_of(amount<pm::bytes<>>("bytes", "bytes of each tensor")),
            list_of(count("first", "operator that writes each tensor", 0.0, 1e9)),
            list_of(count("last", "last operator that reads each tensor", 0.0, 1e9))};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto sizes = all_of(in, "bytes"), first = all_of(in, "first"), last = all_of(in, "last");
    if (first.size() != sizes.size()) wrong_length("first", first.size(), "bytes", sizes.size());
    if (last.size() != sizes.size()) wrong_length("last", last.size(), "bytes", sizes.size());
    std::vector<pm::basic_live_tensor<T>> all;
    pm::bytes<T> sum{};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      all.push_back({pm::bytes<T>::from_value(sizes[i]), index_of(first[i]), index_of(last[i])});
      sum += all.back().size;
    }
    const auto peak = pm::peak_live_bytes(std::span<const pm::basic_live_tensor<T>>(all));
    outcome<T> out;
    out.add("bytes", "peak", peak);
    out.add("sum_bytes", "sum without reuse", sum);
    out.add("saved", "saved share", T(T(1.0) - peak / sum));
    return out;
  }
};

struct gpu_util : law_query {
  static constexpr const char* name = "gpu_util";
  static constexpr const char* help =
      "GPU-Util of nvidia-smi against the share of SMs and of peak that works";
  static std::vector<key> keys() {
    return {
        amount<pm::duration<>>("kernel_s", "time with any kernel resident"),
        positive_amount<pm::duration<>>("elapsed_s", "elapsed time"),
        share("sm_share", "mean share of SMs with work while a kernel is resident").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T resident = pm::resident_share(in.template amount<pm::duration<T>>("kernel_s"),
                                          in.template amount<pm::duration<T>>("elapsed_s"));
    outcome<T> out;
    out.add("gpu_util", "GPU-Util", resident);
    out.add("sm_active", "share of SM time with work", T(resident * in.number("sm_share")));
    return out;
  }
};

struct profiler : law_query {
  static constexpr const char* name = "profiler";
  static constexpr const char* help = "Time without a profiler's overhead and without warm-up runs";
  static std::vector<key> keys() {
    return {list_of(amount<pm::duration<>>("read_s", "time of each run, in order")),
            number("overhead", "time that the profiler adds, as a share", 0.0, 1e3).otherwise("0"),
            count("warm_up", "first runs to leave out", 0.0, 1e6).otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto runs = times_of(in, "read_s");
    const auto skip = static_cast<std::size_t>(in.whole("warm_up"));
    if (skip >= runs.size()) {
      throw pm::error(pm::error_code::out_of_range, cat("warm_up is ", skip, "; allowed: 0 to ",
                                                        runs.size() - 1, " of these runs"));
    }
    pm::duration<T> all{}, kept{};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      all += runs[i];
      if (i >= skip) kept += runs[i];
    }
    const auto time = pm::without_profiler(
        pm::duration<T>(kept / static_cast<double>(runs.size() - skip)), in.number("overhead"));
    const auto mean = pm::duration<T>(all / static_cast<double>(runs.size()));
    outcome<T> out;
    out.add("time_s", "time", time);
    out.add("mean_s", "mean of all runs as read", mean);
    out.add("bias", "mean as read over time", T(mean / time));
    return out;
  }
};

struct mixed_kv : law_query {
  static constexpr const char* name = "mixed_kv";
  static constexpr const char* help =
      "KV cache with recent tokens in a larger format: bytes and sequences";
  static std::vector<key> keys() {
    return {positive("kv_bytes_per_token", "KV cache per token in the larger format", 1e12),
            count("context", "tokens per sequence"),
            count("recent", "recent tokens in the larger format", 0.0, 1e15),
            format_key("format", "format of recent tokens").otherwise("bf16"),
            format_key("compact", "format of the other tokens").otherwise("fp8"),
            positive_amount<pm::bytes<>>("memory_bytes", "memory of the KV cache")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto large = pm::bytes<T>::from_value(in.number("kv_bytes_per_token"));
    const double smaller = bits_of(in.format("compact")) / bits_of(in.format("format"));
    const T context = in.number("context");
    const auto mixed =
        pm::mixed_cache_bytes(context, in.number("recent"), large, pm::bytes<T>(smaller * large));
    const auto room = in.template amount<pm::bytes<T>>("memory_bytes");
    outcome<T> out;
    out.add("bytes", "bytes per sequence", mixed);
    out.add("sequences", "sequences", T(room / mixed));
    out.add("sequences_large", "sequences, all in the larger format",
            T(room / pm::bytes<T>(context * large)));
    out.add("sequences_compact", "sequences, all in the smaller format",
            T(room / pm::bytes<T>(context * smaller * large)));
    return out;
  }
};

}  // namespace

std::vector<query> path_queries() {
  return {declare<gemm_tile>(),         declare<padded_gemm>(),      declare<gemv>(),
          declare<l2_window>(),         declare<host_copy>(),        declare<selection>(),
          declare<special_functions>(), declare<mig_slice>(),        declare<persistent_kernel>(),
          declare<streams>(),           declare<dependent_launch>(), declare<graph_breaks>(),
          declare<memory_plan>(),       declare<gpu_util>(),         declare<profiler>(),
          declare<mixed_kv>()};
}

}  // namespace napkin
