#include "profiles.hpp"

#include <algorithm>
#include <perfmodel/calibrated/catalog/collectives.hpp>
#include <perfmodel/calibrated/catalog/transfer.hpp>
#include <perfmodel/deployment/operators.hpp>
#include <vector>

namespace napkin {

namespace {

namespace pm = perfmodel;
namespace catalog = pm::catalog;

bool is_of(const given_profile* given, const pm::accelerator& a) {
  return given != nullptr && given->machine.name == a.name;
}

/// The engines' own all-reduce kernels; vLLM's for want of an engine.
const pm::engine_all_reduce_kernels& custom_kernels_of(std::string_view engine) {
  return engine == "sglang" || engine == "trtllm" ? catalog::flag_kernels
                                                  : catalog::barrier_kernels;
}

void check_stated(const pm::accelerator& a, profile_part part) {
  const auto needs = [&a](const char* what, double x) {
    if (x > 0.0) return;
    throw pm::error(pm::error_code::unknown_name,
                    std::string("mode is \"calibrated\", and the catalogue does not state the ") +
                        what + " of " + a.name.c_str() + "; allowed: bound");
  };
  if (part == profile_part::links || part == profile_part::none) return;
  needs("SMs", a.sms.value());
  if (part == profile_part::attention || part == profile_part::all) {
    needs("clock", a.vector.clock.value());
    needs("L2 capacity", a.l2.capacity.value());
  }
}

/// One profile behind a time, with its weight in it.
struct part_of_time {
  const char* what;
  std::string_view owner;
  const pm::source* from;
  double log_sigma;
  double share;
};

/// Engines narrow 16-bit activations for products in fewer bits; their spread is over both.
double product_spread(const calibration& c, bool quantises) {
  return quantises ? std::max(c.machine.log_sigma, c.engine.log_sigma) : c.machine.log_sigma;
}

std::vector<part_of_time> parts_of(const calibration& c, profile_part part,
                                   const pm::basic_terms<double>& terms) {
  const auto machine = [&](double share, bool quantises) {
    return part_of_time{"GEMM", c.machine.name.view(), c.machine.from, product_spread(c, quantises),
                        share};
  };
  const auto attention = [&](double share) {
    return part_of_time{"attention", c.attention.name.view(), c.attention.from,
                        c.attention.log_sigma, share};
  };
  const auto experts = [&](double share) {
    return part_of_time{"expert", c.experts.name.view(), c.experts.from, c.experts.log_sigma,
                        share};
  };
  const auto links = [&](double share) {  // names its own basis, also where it is a relative's
    return part_of_time{"collective", c.accelerator.view(), c.links.from, c.links.log_sigma, share};
  };
  switch (part) {
    case profile_part::none: return {};
    case profile_part::matrix: return {machine(1.0, terms["quantise"].value() > 0.0)};
    case profile_part::attention: return {attention(1.0)};
    case profile_part::experts: return {experts(1.0)};
    case profile_part::links: {
      const double between = terms["between"].value();
      if (!(between > 0.0)) return {links(1.0)};
      return {links(terms["inside"].value()),
              {"network", c.accelerator.view(), c.network.from, c.network.log_sigma, between}};
    }
    case profile_part::all: break;
  }
  const auto time = [&](pm::operator_class k) { return terms[pm::name_of(k)].value(); };
  using pm::operator_class;
  std::vector<part_of_time> parts = {
      machine(time(operator_class::linear) + time(operator_class::other), c.narrow_products),
      attention(time(operator_class::attention)), experts(time(operator_class::experts)),
      links(terms["communication"].value())};
  std::erase_if(parts, [](const part_of_time& p) { return !(p.share > 0.0); });
  return parts;
}

/// From the weakest to the strongest.
int strength(pm::basis b) {
  switch (b) {
    case pm::basis::assumed: return 0;
    case pm::basis::announced: return 1;
    case pm::basis::derived: return 2;
    case pm::basis::given: return 3;
    case pm::basis::measured: return 4;
    case pm::basis::vendor: return 5;
  }
  return 0;
}

}  // namespace

bool has_profile(const pm::accelerator& a, profile_part part, const given_profile* given) {
  if (part == profile_part::none) return false;
  if (is_of(given, a) || catalog::measured_as(a) != nullptr) return true;
  return part == profile_part::links && catalog::measured_collectives(a) != nullptr;
}

calibration calibration_of(const pm::accelerator& a, profile_part part, std::string_view engine,
                           const given_profile* given) {
  check_stated(a, part);
  calibration c;
  c.accelerator = a.name;
  c.machine = is_of(given, a) ? given->machine : catalog::machine_profile_of(a);
  if (const pm::engine_profile* e = catalog::find_engine(engine)) c.engine = *e;
  c.attention = catalog::attention_profile_of(a);
  c.attention_kernels = catalog::attention_kernels_of(a, pm::bf16);
  c.narrow_attention_kernels = catalog::attention_kernels_of(a, pm::fp8);
  c.experts = catalog::moe_profile_of(a);
  c.expert_kernels = catalog::triton_experts;
  c.narrow_expert_kernels = catalog::triton_fp8_experts;
  c.spread_expert_kernels = catalog::cutlass_experts;
  c.links = catalog::collective_profile_of(a);
  c.network = catalog::collective_profile_of(pm::link{.kind = pm::link_kind::infiniband});
  c.custom = custom_kernels_of(engine);
  return c;
}

profile_note note_of(const calibration& c, profile_part part,
                     const pm::basic_terms<double>& terms) {
  profile_note note{c.accelerator.c_str(), pm::basis::vendor, {}};
  const auto add = [&](pm::basis how, const std::string& text) {
    if (strength(how) < strength(note.basis)) note.basis = how;
    if (note.source.find(text) == std::string::npos)
      note.source += (note.source.empty() ? "" : "; ") + text;
  };
  for (const part_of_time& p : parts_of(c, part, terms)) {
    if (p.owner == c.accelerator.view()) {
      add(p.from->how, p.from->text);
    } else {  // lent by a relative, whose name it keeps
      add(pm::basis::assumed, std::string("the ") + p.what + " profile of " + std::string(p.owner) +
                                  ", the nearest measured accelerator by architecture");
    }
  }
  const bool quantises =
      part == profile_part::all ? c.narrow_products : terms["quantise"].value() > 0.0;
  if (quantises && c.engine.log_sigma > 0.0) add(c.engine.from->how, c.engine.from->text);
  if (note.source.empty()) note.basis = pm::basis::derived;  // nothing takes time
  return note;
}

std::string text_of(const profile_note& note) {
  std::string text = note.name + " (" + pm::name_of(note.basis);
  if (!note.source.empty()) text += ": " + note.source;
  return text + ")";
}

double spread_of(const calibration& c, profile_part part, const pm::basic_terms<double>& terms) {
  double time = 0.0, weighted = 0.0;
  for (const part_of_time& p : parts_of(c, part, terms)) {
    time += p.share;
    weighted += p.share * p.log_sigma;
  }
  return time > 0.0 ? weighted / time : 0.0;
}

}  // namespace napkin
