// What the compiler made of the kernels: as many instructions for each counted operation as the
// recordings say, loads ahead of the first use of one, no local memory. No test on a CPU sees that,
// and a measurement that is wrong for it looks like any other.
//
//   check_machine_code KNOWN_CUBIN... -- PROGRAM...
//
// The cubins are of known.cu: first they have to be counted right. Then each rule below is held
// against each program that it is about, for every architecture that the program was built for.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "../kernels/algorithms/chain_instructions.hpp"
#include "conditions.hpp"

using namespace perfmodel::validation;  // NOLINT: a program of its own

namespace {

int failures = 0;

void report(bool holds, const kernel_code& k, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: sm_%d: %s: %s\n", k.architecture, k.name.c_str(), what.c_str());
}

// --- the rules -----------------------------------------------------------------------------------

struct rule {
  std::string program, kernel;  ///< part of the mangled name
  std::string what;
  condition holds;
};

std::vector<rule> rules() {
  std::vector<rule> out{
      {"arithmetic_peak", "fma_kernelIf", "128 FFMA for 128 counted",
       loop_of(opcode::ffma, 128, 4)},
      {"arithmetic_peak", "fma_kernelId", "128 DFMA for 128 counted",
       loop_of(opcode::dfma, 128, 5)},
      {"arithmetic_peak", "10mma_kernelILb0E", "32 HMMA for 32 mma", loop_of(opcode::hmma, 32, 4)},
      {"arithmetic_peak", "10mma_kernelILb1E", "32 QMMA for 32 mma in fp8, or nothing at all",
       [](const kernel_code& k) {
         if (has_fp8_mma(k.architecture)) return loop_of(opcode::qmma, 32, 4)(k);
         return k.count(opcode::hmma) == 0;
       }},
      {"arithmetic_peak", "wgmma_kernelILb0E", "4 HGMMA for 4 wgmma, or nothing at all",
       warp_group_loop(opcode::hgmma)},
      {"arithmetic_peak", "wgmma_kernelILb1E", "4 QGMMA for 4 wgmma in fp8, or nothing at all",
       warp_group_loop(opcode::qgmma)},
      {"pointer_chase", "chase_kernelILb0E", "nothing between two loads", chased(16)},
      {"pointer_chase", "chase_kernelILb1E", "nothing between two loads", chased(16)},
      {"pointer_chase", "spread_kernel", "a clock after each load", clock_after_load()},
      {"memory_stream", "stream_kernelILNS_4kindE0E", "4 loads ahead",
       loads_ahead(4, 16, opcode::fadd)},
      {"memory_stream", "stream_kernelILNS_4kindE1E", "4 stores", loop_of(opcode::stg, 4)},
      {"memory_stream", "stream_kernelILNS_4kindE2E", "4 loads ahead",
       loads_ahead(4, 16, opcode::stg)},
      {"memory_stream", "stream_kernelILNS_4kindE3E", "8 loads ahead",
       loads_ahead(8, 16, opcode::ffma)},
      {"memory_stream", "again_kernel", "4 loads ahead", loads_ahead(4, 16, opcode::fadd)},
      {"shared_memory", "read_kernel", "8 LDS for 8 reads", shared_loads(8, 4)},
      {"shared_memory", "wide_kernel", "8 LDS for 8 reads of 16 bytes", shared_loads(8, 16)},
      {"attention", "24prefill_attention_kernelILi128E", "128 HMMA for 128 mma",
       loop_of(opcode::hmma, 128)},
      {"attention", "hopper_prefill_kernelILi128E", "8 wgmma for the scores and 8 for the values",
       [](const kernel_code& k) {
         return k.count(opcode::hgmma) == 0 ? k.code.size() < 64 : loop_of(opcode::hgmma, 16)(k);
       }},
      {"moe", "grouped_product_kernelILi16E", "16 HMMA for 16 mma", loop_of(opcode::hmma, 16)},
      {"moe", "grouped_product_kernelILi64E", "64 HMMA for 64 mma", loop_of(opcode::hmma, 64)},
      {"transfer", "copy_kernel", "4 loads ahead", loads_ahead(4, 16, opcode::stg)},
      {"energy", "stream_kernel", "4 loads ahead", loads_ahead(4, 16, opcode::stg)},
      {"energy", "chain_kernel", "64 FFMA for 64 counted", loop_of(opcode::ffma, 64, 4)},
  };
  // What the recordings say of instructions, by the values of a thread.
  const auto add_chain = [&](const std::string& kernel, int values, double each) {
    out.push_back({"fusion", kernel, std::to_string(each) + " instructions a value",
                   straight(values * each)});
  };
  add_chain("bias_gelu_kernelILNS_4partE0E", 8, chain_instructions::bias);
  add_chain("bias_gelu_kernelILNS_4partE1E", 8, chain_instructions::gelu);
  add_chain("bias_gelu_kernelILNS_4partE2E", 8, chain_instructions::bias_gelu);
  add_chain("normalise_kernel", 8, chain_instructions::normalise);
  add_chain("affine_kernel", 8, chain_instructions::affine);
  for (const int held : {1, 2, 4}) {
    add_chain("layer_norm_kernelILi" + std::to_string(held) + "ELb1", 8 * held,
              chain_instructions::layer_norm(held));
  }
  const auto add_flight = [&](const std::string& type, unsigned bytes) {
    for (const std::size_t loads : {1U, 2U, 4U, 8U}) {
      const std::string n = std::to_string(loads);
      out.push_back({"littles_law", "flight_kernelI" + type + "Li" + n + "ELb0E",
                     n + " loads ahead of the first addition",
                     loads_ahead(loads, bytes, opcode::fadd)});
    }
  };
  for (const char* program : {"attention", "decode_step"}) {
    // 16 keys of 128 dimensions: 8 mma for their scores and 8 for their values.
    const std::string decode = "decode_attention_kernelILi128E";
    out.push_back({program, decode, "16 HMMA for 16 mma", loop_of(opcode::hmma, 16)});
    out.push_back(
        {program, decode, "the next keys and values ahead", copies_ahead(16, opcode::hmma)});
  }
  add_flight("f", 4);
  add_flight("6float2", 8);
  add_flight("6float4", 16);
  for (const unsigned fmas : {1U, 2U, 4U, 8U, 16U, 24U, 32U, 40U, 48U, 64U, 80U, 96U, 128U, 192U,
                              256U, 512U, 1024U, 2048U}) {
    // Up to eight steps are unrolled, for each of the 16 values that a thread holds.
    const std::size_t in_loop = std::size_t{16} * (fmas < 8 ? fmas : 8);
    const std::string n = std::to_string(fmas);
    out.push_back({"arithmetic_peak", "intensity_kernelILi" + n + "E",
                   std::to_string(in_loop) + " FFMA in the loop for " + n + " on each value",
                   fmas <= 8 ? loop_of(opcode::ffma, in_loop) : loop_of(opcode::ffma, in_loop, 5)});
    out.push_back({"arithmetic_peak", "intensity_kernelILi" + n + "E", "4 loads ahead",
                   loads_ahead(4, 16, opcode::ffma)});
  }
  return out;
}

/// A kernel that is not timed, and may keep something in local memory.
constexpr std::string_view untimed = "pass_kernel";

// --- known.cu ------------------------------------------------------------------------------------

void check_known(const kernel_code& k) {
  struct expectation {
    std::string_view kernel;
    opcode op;
    std::size_t n;
  };
  constexpr expectation expected[] = {
      {"has_FADD_5", opcode::fadd, 5},     {"has_FFMA_10", opcode::ffma, 10},
      {"has_DFMA_6", opcode::dfma, 6},     {"has_LDG_3", opcode::ldg, 3},
      {"has_LDGSTS_3", opcode::ldgsts, 3}, {"has_STG_4", opcode::stg, 4},
      {"has_LDS_7", opcode::lds, 7},       {"has_HMMA_9", opcode::hmma, 9},
      {"has_wide_2", opcode::ldg, 1},      {"has_wide_2", opcode::lds, 1}};
  for (const expectation& e : expected) {
    if (k.name == e.kernel)
      report(k.count(e.op) == e.n, k, "counted " + std::to_string(k.count(e.op)));
    if (k.name != "has_local") report(!uses_local_memory(k), k, "local memory where there is none");
  }
  if (k.name == "has_wide_2") {
    for (const instruction& i : k.code) {
      const bool load = i.is() == opcode::ldg || i.is() == opcode::lds;
      report(!load || i.bytes() == 16, k, "a load of 16 bytes is taken for another");
    }
  }
  if (k.name == "has_QMMA_9") {
    const std::size_t n = has_fp8_mma(k.architecture) ? 9 : 0;
    report(k.count(opcode::qmma) == n, k, "counted " + std::to_string(k.count(opcode::qmma)));
  }
  if (k.name == "has_HGMMA_3" || k.name == "has_QGMMA_3") {
    const std::size_t n = k.count(k.name == "has_HGMMA_3" ? opcode::hgmma : opcode::qgmma);
    report(n == 3 || k.code.size() < 64, k, "counted " + std::to_string(n));  // empty but on sm_90a
  }
  if (k.name == "has_local") report(uses_local_memory(k), k, "its local memory is not seen");
  if (k.name == "has_loop") {
    report(loop_of(opcode::ffma, 3, 4)(k) && k.count(opcode::ffma) == 15, k,
           "its loop is not found");
  }
  if (k.name == "accepted_chase") report(chased(4)(k), k, "a chase is refused");
  if (k.name == "refused_chase") report(!chased(4)(k), k, "a chase by index is accepted");
  if (k.name == "accepted_clock") report(clock_after_load()(k), k, "a clock that waits is refused");
  if (k.name == "refused_clock") report(!clock_after_load()(k), k, "an early clock is accepted");
  if (k.name == "has_FFMA_10") {
    report(straight(18.5)(k) && !straight(30)(k), k, "its instructions are not counted");
  }
  if (k.name == "has_loop") report(!straight(40)(k), k, "a loop is taken for what runs once");
  const condition ahead = loads_ahead(4, 4, opcode::fadd);
  if (k.name == "accepted_flight") report(ahead(k), k, "loads ahead are refused");
  if (k.name == "refused_flight") report(!ahead(k), k, "loads that wait are accepted");
}

std::vector<kernel_code> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  std::vector<kernel_code> out = kernels_of(all);
  if (out.empty()) {
    ++failures;
    std::printf("FAILED: %s: no device code, or compressed\n", path.c_str());
  }
  return out;
}

void check_known_file(const std::string& path) {
  const std::vector<kernel_code> kernels = read(path);
  for (const kernel_code& k : kernels) check_known(k);
  for (const std::string_view name :
       {"has_FADD_5",    "has_FFMA_10",    "has_DFMA_6",    "has_LDG_3",       "has_LDGSTS_3",
        "has_STG_4",     "has_LDS_7",      "has_wide_2",    "has_HMMA_9",      "has_QMMA_9",
        "has_HGMMA_3",   "has_QGMMA_3",    "has_local",     "has_loop",        "accepted_chase",
        "refused_chase", "accepted_clock", "refused_clock", "accepted_flight", "refused_flight"}) {
    const auto has_name = [&](const kernel_code& k) { return k.name == name; };
    if (std::any_of(kernels.begin(), kernels.end(), has_name)) continue;
    ++failures;
    std::printf("FAILED: %s: no kernel %s\n", path.c_str(), std::string(name).c_str());
  }
  std::printf("%s: %zu kernels counted right or reported\n", path.c_str(), kernels.size());
}

void check_program(const std::string& path, const std::vector<rule>& all) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const std::vector<kernel_code> kernels = read(path);
  int held = 0;
  for (const rule& r : all) {
    if (r.program != name) continue;
    bool found = false;
    for (const kernel_code& k : kernels) {
      if (k.name.find(r.kernel) == std::string::npos) continue;
      found = true;
      ++held;
      report(r.holds(k), k, r.what);
    }
    if (!found && !kernels.empty()) {
      ++failures;
      std::printf("FAILED: %s: no kernel %s\n", name.c_str(), r.kernel.c_str());
    }
  }
  for (const kernel_code& k : kernels) {
    const bool timed = k.name.find(untimed) == std::string::npos;
    if (timed) report(!uses_local_memory(k), k, "local memory");
  }
  std::printf("%s: %zu kernels, %d rules held against them\n", name.c_str(), kernels.size(), held);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<rule> all = rules();
  bool known = true;
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    if (path == "--") {
      known = false;
    } else if (known) {
      check_known_file(path);
    } else {
      check_program(path, all);
    }
  }
  if (known) {
    std::fprintf(stderr, "usage: check_machine_code KNOWN_CUBIN... -- PROGRAM...\n");
    return 2;
  }
  return failures == 0 ? 0 : 1;
}
