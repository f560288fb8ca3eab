// The experiments, their quantities, the unit of each and the parameters that it cannot do without:
// the table of validation/recording/README.md, for the reader.
#pragma once

#include <array>
#include <string_view>

namespace perfmodel::validation {

/// One quantity of one experiment. The lists are words apart by blanks: `numbers` and `flags` by
/// name, `words` as name=this|that, or a bare name where any text may stand; a name with "?" may be
/// missing. `gpu` and `cpu` are numbers that only that kind of device has.
struct quantity_rule {
  std::string_view experiment, quantity, unit, words, numbers;
  std::string_view flags{}, gpu{}, cpu{};
};

inline constexpr std::array quantity_rules{
    quantity_rule{"memory_stream", "stream_time", "s",
                  "kernel=read|copy|triad|write cache=cold|warm method?=chain|one_kernel|memcpy",
                  "working_set_bytes threads bytes_read bytes_written"},
    quantity_rule{"pointer_chase", "load_latency", "s", "", "working_set_bytes stride_bytes hops"},
    quantity_rule{"pointer_chase", "load_latency_cycles", "cycle", "",
                  "working_set_bytes stride_bytes hops"},
    quantity_rule{"pointer_chase", "load_latency_spread", "s", "",
                  "working_set_bytes stride_bytes hops mean_latency?"},
    quantity_rule{"shared_memory", "shared_memory_time", "s",
                  "pattern=conflict_free|stride|xor_swizzle|padded",
                  "stride_words conflict_ways bytes"},
    quantity_rule{"arithmetic_peak", "arithmetic_time", "s",
                  "unit=fp32_fma|mma|wgmma|cublaslt|fp64_fma|host_fma format", "flop"},
    quantity_rule{"arithmetic_peak", "intensity_time", "s", "cache=cold|warm",
                  "flop_per_byte flop bytes_read bytes_written"},
    quantity_rule{"gemm_sweep", "gemm_time", "s", "format library cache=cold|warm",
                  "m n k weight_copies flop bytes_read bytes_written"},
    quantity_rule{"gemm_sweep", "verify_time", "s", "format", "m n k"},
    quantity_rule{"littles_law", "bytes_in_flight_time", "s", "", "bytes_read", "",
                  "bytes_in_flight blocks_per_sm threads_per_block loads_per_thread load_bytes",
                  "chains threads"},
    quantity_rule{"launch", "launch_time", "s",
                  "mode=stream|stream_sync|graph|thread side=host|device work?=empty|scale",
                  "kernels"},
    quantity_rule{"fusion", "chain_time", "s", "chain=bias_gelu|layer_norm format",
                  "rows columns launches bytes_read bytes_written lane_instructions?", "fused"},
    quantity_rule{"attention", "attention_prefill_time", "s",
                  "variant=unfused|online_softmax|online_softmax_wgmma format",
                  "batch tokens query_heads kv_heads head_dim", "causal"},
    quantity_rule{"attention", "attention_decode_time", "s", "format",
                  "splits batch context query_heads kv_heads head_dim"},
    quantity_rule{"attention", "paged_attention_time", "s",
                  "order=contiguous|ordered|shuffled format",
                  "block_size splits batch context query_heads kv_heads head_dim"},
    quantity_rule{"attention", "kv_blocks", "1", "",
                  "block_bytes free_bytes total_bytes reserved_bytes"},
    quantity_rule{"weight_only", "gemv_time", "s", "weights=bf16|int8|int4", "m n k scale_block"},
    quantity_rule{"transfer", "overlap_time", "s",
                  "other=copy_engine|sm_copy arrangement=compute_alone|other_alone|together",
                  "m n k bytes"},
    quantity_rule{"transfer", "transfer_time", "s", "direction=h2d|d2h memory=pinned|pageable",
                  "bytes"},
    quantity_rule{"transfer", "all_reduce_time", "s", "implementation=nccl launch=stream|graph",
                  "ranks bytes"},
    quantity_rule{"transfer", "wire_bytes", "B", "algorithm=ring|one_shot|two_shot",
                  "ranks message_bytes"},
    quantity_rule{"speculative", "acceptance_rate", "1", "",
                  "overlap draft_length vocabulary trials"},
    quantity_rule{"speculative", "emitted_tokens", "token", "", "acceptance draft_length trials"},
    quantity_rule{"speculative", "verify_time", "s", "format", "m n k"},
    quantity_rule{"moe", "moe_time", "s", "format", "tokens hidden intermediate experts top_k"},
    quantity_rule{"moe", "experts_touched", "1", "", "tokens experts top_k"},
    quantity_rule{"decode_step", "step_time", "s", "launch=eager|graph format",
                  "batch context prefill_tokens layers hidden intermediate query_heads kv_heads "
                  "head_dim vocabulary"},
    quantity_rule{"energy", "energy", "J",
                  "load=memory_stream|memory_read|arithmetic_peak|gemm|gemm_fp8|idle", "seconds"},
    quantity_rule{"energy", "power", "W",
                  "load=memory_stream|memory_read|arithmetic_peak|gemm|gemm_fp8|idle", ""},
    quantity_rule{"energy", "sm_clock", "Hz",
                  "load=memory_stream|memory_read|arithmetic_peak|gemm|gemm_fp8|idle "
                  "method?=counted|nvml",
                  ""},
    quantity_rule{"kernel_profile", "kernel_time", "s", "kernel model", "batch"},
    quantity_rule{"kernel_profile", "elapsed_cycles", "cycle", "kernel model", "batch"},
    quantity_rule{"kernel_profile", "sm_active_cycles", "cycle", "kernel model", "batch"},
    quantity_rule{"kernel_profile", "sm_busy", "1", "kernel model", "batch"},
    quantity_rule{"kernel_profile", "dram_rate", "B/s", "kernel model", "batch"},
    quantity_rule{"kernel_profile", "dram_share", "1", "kernel model", "batch"},
    quantity_rule{"kernel_profile", "l2_hit_rate", "1", "kernel model", "batch"},
};

/// Program that measures what a recording's experiment did: a recording keeps the name that it was
/// written with, and programs were joined since. On a CPU each is still an experiment of its own.
constexpr std::string_view program_of(std::string_view experiment) {
  if (experiment == "paged_kv") return "attention";
  if (experiment == "roofline") return "arithmetic_peak";
  if (experiment == "overlap") return "transfer";
  return experiment;
}

/// No program measures these any more; their recordings are read.
constexpr bool is_former(std::string_view experiment) {
  return experiment == "weight_only" || experiment == "speculative";
}

/// Program that measures a quantity; of a quantity that is no longer measured, the one that did.
constexpr std::string_view program_for(std::string_view quantity) {
  for (const quantity_rule& r : quantity_rules) {
    if (r.quantity == quantity) return r.experiment;
  }
  return {};
}

}  // namespace perfmodel::validation
