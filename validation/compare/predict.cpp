#include "predict.hpp"

#include <array>
#include <cmath>
#include <exception>
#include <filesystem>

#include <fit/scored_rows.hpp>
#include "measured.hpp"
#include "predict_host.hpp"

namespace perfmodel::validation {

namespace {

struct entry {
  std::string_view quantity;
  predictor predict;
};
constexpr std::array predictors{
    entry{"stream_time", predict_stream},
    entry{"load_latency", predict_latency},
    entry{"load_latency_cycles", predict_latency_cycles},
    entry{"shared_memory_time", predict_shared_memory},
    entry{"arithmetic_time", predict_arithmetic},
    entry{"intensity_time", predict_intensity},
    entry{"gemm_time", predict_gemm},
    entry{"bytes_in_flight_time", predict_bytes_in_flight},
    entry{"launch_time", predict_launch},
    entry{"chain_time", predict_chain},
    entry{"attention_prefill_time", predict_prefill},
    entry{"attention_decode_time", predict_decode},
    entry{"paged_attention_time", predict_decode},
    entry{"kv_blocks", predict_kv_blocks},
    entry{"gemv_time", predict_gemv},
    entry{"overlap_time", predict_overlap},
    entry{"transfer_time", predict_transfer},
    entry{"all_reduce_time", predict_all_reduce},
    entry{"wire_bytes", predict_wire_bytes},
    entry{"acceptance_rate", predict_acceptance},
    entry{"emitted_tokens", predict_emitted},
    entry{"verify_time", predict_gemm},
    entry{"moe_time", predict_experts},
    entry{"experts_touched", predict_experts_touched},
    entry{"step_time", predict_step},
    entry{"energy", predict_energy},
    entry{"power", predict_power},
    entry{"sm_clock", predict_clock},
    entry{"kernel_time", predict_kernel_time},
    entry{"elapsed_cycles", predict_elapsed_cycles},
    entry{"sm_active_cycles", predict_active_cycles},
    entry{"dram_share", predict_dram_share},
};

/// Laws of tokens, bytes and counts ask nothing of a device.
bool needs_device(std::string_view quantity) {
  for (const std::string_view q :
       {"wire_bytes", "acceptance_rate", "emitted_tokens", "experts_touched", "kv_blocks"}) {
    if (quantity == q) return false;
  }
  return true;
}

}  // namespace

predictor find_predictor(std::string_view quantity) {
  for (const entry& e : predictors) {
    if (e.quantity == quantity) return e.predict;
  }
  return nullptr;
}

double held_to(const question& q, const demand& d, bool warm) {
  perfmodel::accelerator a = q.on.fastest;
  if (warm) {
    const bandwidth<> l1 = a.shared.bandwidth.quantity();
    a.dram.bandwidth = l1.value() > 0.0 ? l1 : 1e24 * byte_per_s;
  }
  return roofline(a, d).time.value();
}

prediction bounded_by(const question& q, const demand& d, const estimate& e, const char* law) {
  prediction p;
  p.value = e.time.value();
  p.bound = roofline(q.on.device, d).time.value();
  p.warm = q.warm();
  p.held_to = held_to(q, d, p.warm);
  p.size = d.dram.total().value();
  p.regime = published::regime_of(e);
  p.by = law;
  p.profiled = true;
  return p;
}

std::string shape_of(const question& q, std::string_view names) {
  std::string s;
  for (const std::string_view name : common::split(names, ' ')) {
    const std::string word = q.word(name);
    s += cat(s.empty() ? "" : "x", word.empty() ? cat(q.number(name)) : word);
  }
  return s;
}

std::string device_label(const recorded& r) {
  if (r.device.accelerator.empty()) return r.device.name;
  std::string folder = std::filesystem::path(r.file).parent_path().filename().string();
  const std::string prefix = cat(r.device.accelerator, "_");
  const bool further_run =
      folder.size() > prefix.size() && folder.rfind(prefix, 0) == 0 &&
      folder.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  return further_run ? folder : r.device.accelerator;
}

namespace {

/// A reading of the driver is a multiple of 15 MHz; the SMs' own count is not.
bool counted(double clock_hz) {
  return clock_hz > 0.0 && std::fmod(clock_hz, 15e6) != 0.0;
}

/// A machine at a clock: its peaks are those of the clock, so that power takes nothing more.
machine at_clock(machine m, double clock_hz) {
  for (perfmodel::compute_unit* u : {&m.device.matrix, &m.device.vector}) {
    if (!u->clock.is_stated()) continue;
    const double by = clock_hz / u->clock.value();
    peak_rates::fields(
        [by](const field&, auto& rate) {
          if (rate.is_stated()) rate = by * rate.quantity();
        },
        u->peak);
    u->clock = frequency<>::from_value(clock_hz);
  }
  m.policy.machine.power_slowdown = 0.0;
  return m;
}

prediction prediction_of(const question& q, predictor predict) {
  try {
    const std::string& kind = q.in.device.kind;
    if (kind == "cpu" && needs_device(q.at.quantity)) return predict_on_host(q);
    prediction none;
    if (needs_device(q.at.quantity) && !q.on.known) {
      none.note = q.in.device.name.find(" MIG ") == std::string::npos
                      ? "the device is not in the catalogue"
                      : "a part of a GPU (MIG) is not in the catalogue";
    } else if (predict != nullptr) {
      return predict(q);
    } else {
      none.note = "no law is about this quantity";
    }
    return none;
  } catch (const std::exception& e) {
    prediction none;
    none.note = e.what();
    return none;
  }
}

/// Whether the library's number for a quantity was taken from this very run: the first H200's, and
/// for loads from L1 the second's.
bool stated_from(const question& q) {
  if (q.in.device.accelerator != "h200_sxm") return false;
  const bool first = q.in.run.revision.rfind("831b97f0be", 0) == 0;
  for (const std::string_view taken :
       {"load_latency", "load_latency_cycles", "transfer_time", "energy", "power", "sm_clock"}) {
    if (q.at.quantity == taken && first) return true;
  }
  return false;
}

comparison compare_point(const question& q, predictor predict) {
  const recorded& r = q.in;
  comparison c;
  const std::size_t folder = r.file.find_last_of('/');
  c.table = folder == std::string::npos ? r.file : r.file.substr(folder + 1);
  c.quantity = q.at.quantity;
  c.device = device_label(r);
  c.unit = q.at.unit;
  c.format = q.word("format");
  c.measured = median_of(q.at);
  const prediction said = prediction_of(q, predict);
  c.predicted = said.value;
  c.bound = said.bound;
  c.held_to = said.held_to;
  c.why_held = said.why_held;
  c.size = said.size;
  c.warm = said.warm;
  c.fitted = said.fitted || stated_from(q);
  c.host = r.device.kind == "cpu";
  c.borrowed = said.profiled && q.on.known && !q.on.own_profile;
  c.log_sigma = said.profiled ? q.on.log_sigma : 0.0;
  c.regime = said.regime;
  c.by = said.by;
  c.note = said.note;
  c.shape = said.shape;
  if (!q.word("kernel").empty() && q.number("batch") > 0.0) {
    c.shape = cat(q.word("kernel"), ", batch ", shape_of(q, "batch"));
  }
  const double clock = q.number("sm_clock_hz");
  if (counted(clock)) c.clock_hz = clock;
  c.slow = q.on.known && c.clock_hz > 0.0 &&
           c.clock_hz < throttled_below * q.on.device.matrix.clock.value();
  if (c.slow && c.predicts() && q.at.unit == "s") {
    const machine slowed = at_clock(q.on, clock);
    c.at_clock = prediction_of({slowed, r, q.at}, predict).value;
  }
  return c;
}

}  // namespace

std::vector<comparison> compare_recording(const recorded& r, const machine& on) {
  std::vector<comparison> out;
  for (const point& p : r.points) {
    out.push_back(compare_point({on, r, p}, find_predictor(p.quantity)));
  }
  // A second law of the same points, after a row for each point.
  for (const point& p : r.points) {
    if (p.quantity != "intensity_time" || r.device.kind != "gpu") continue;
    out.push_back(compare_point({on, r, p}, predict_iron_law));
    out.back().quantity += iron_law_suffix;
  }
  return out;
}

}  // namespace perfmodel::validation
