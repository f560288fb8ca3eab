#include "engine_commands.hpp"

#include <cmath>

#include "io/text.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
using common::cat;

std::string flag_count(double x) {
  return std::to_string(std::llround(x));
}
/// A share with three digits, rounded down: a share of memory must not grow.
std::string flag_share(double x) {
  const std::string s = std::to_string(std::floor(1000.0 * x) / 1000.0);
  return s.substr(0, s.find('.') + 4);
}
/// Running requests of one data-parallel group.
double per_group(const server_settings& s) {
  return std::ceil(s.running_requests / static_cast<double>(s.layout.data));
}
bool is_16_bit(pm::number_format f) {
  return pm::bits_of(f) >= 16.0;
}

void note_cache(server_command& c, const server_settings& s, const char* engine) {
  c.notes.push_back(cat("the row has a KV cache in ", pm::name_of(s.kv), ", and no flag of ",
                        engine, " sets it; the checkpoint's own format applies"));
}

server_command vllm(const server_settings& s) {
  server_command c{{"vllm", "serve", "\"$MODEL\""}, {}, {}, {}};
  const auto add = [&c](const char* flag, std::string value = {}) {
    c.flags.emplace_back(flag, std::move(value));
  };
  add("--tensor-parallel-size", std::to_string(s.layout.tensor));
  if (s.layout.pipeline > 1) add("--pipeline-parallel-size", std::to_string(s.layout.pipeline));
  if (s.layout.data > 1) add("--data-parallel-size", std::to_string(s.layout.data));
  if (s.layout.expert > 1) {
    add("--enable-expert-parallel");
    if (s.layout.expert != s.layout.stage_ranks())
      c.notes.push_back(cat("expert parallelism of vLLM is TP x DP = ", s.layout.stage_ranks(),
                            ", and the row has EP", s.layout.expert));
  }
  add("--max-num-seqs", flag_count(per_group(s)));
  if (s.step_tokens) add("--max-num-batched-tokens", flag_count(*s.step_tokens));
  add("--gpu-memory-utilization", flag_share(s.memory_share));
  add("--max-model-len", flag_count(s.context));
  if (s.kv == pm::number_format::fp8) {
    add("--kv-cache-dtype", "fp8");
  } else if (!is_16_bit(s.kv)) {
    note_cache(c, s, "vLLM");
  }
  if (s.quantise) add("--quantization", std::string(pm::name_of(*s.quantise)));
  if (s.speculation) {
    const std::string length = std::to_string(s.speculation->length);
    add("--speculative-config",
        s.speculation->own_heads
            ? cat("'{\"method\":\"mtp\",\"num_speculative_tokens\":", length, "}'")
            : cat("'{\"method\":\"ngram\",\"num_speculative_tokens\":", length,
                  ",\"prompt_lookup_max\":4}'"));
  }
  if (!s.cuda_graphs) add("--enforce-eager");
  if (s.role != server_role::whole) {
    add("--kv-transfer-config",
        cat("'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"",
            s.role == server_role::prefill ? "kv_producer" : "kv_consumer", "\"}'"));
  }
  return c;
}

server_command sglang(const server_settings& s) {
  server_command c{{"python3", "-m", "sglang.launch_server"}, {}, {}, {}};
  const auto add = [&c](const char* flag, std::string value = {}) {
    c.flags.emplace_back(flag, std::move(value));
  };
  add("--model-path", "\"$MODEL\"");
  // With DP attention --tp is the number of all ranks of a stage.
  add("--tp", std::to_string(s.layout.stage_ranks()));
  if (s.layout.pipeline > 1) add("--pp-size", std::to_string(s.layout.pipeline));
  if (s.layout.data > 1) {
    add("--dp", std::to_string(s.layout.data));
    add("--enable-dp-attention");
  }
  if (s.layout.expert > 1) add("--ep", std::to_string(s.layout.expert));
  // SGLang divides it by --dp.
  add("--max-running-requests", flag_count(per_group(s) * s.layout.data));
  if (s.step_tokens) add("--chunked-prefill-size", flag_count(*s.step_tokens));
  add("--mem-fraction-static", flag_share(s.memory_share));
  add("--context-length", flag_count(s.context));
  if (s.kv == pm::number_format::fp8) {
    add("--kv-cache-dtype", "fp8_e4m3");
  } else if (!is_16_bit(s.kv)) {
    note_cache(c, s, "SGLang");
  }
  if (s.quantise) add("--quantization", std::string(pm::name_of(*s.quantise)));
  if (s.speculation) {
    const int length = s.speculation->length;
    add("--speculative-algorithm", s.speculation->own_heads ? "EAGLE" : "NGRAM");
    if (s.speculation->own_heads) {
      add("--speculative-num-steps", std::to_string(length));
      add("--speculative-eagle-topk", "1");
    }
    add("--speculative-num-draft-tokens", std::to_string(length + 1));
  }
  if (!s.cuda_graphs) add("--disable-cuda-graph");
  if (s.role != server_role::whole)
    add("--disaggregation-mode", s.role == server_role::prefill ? "prefill" : "decode");
  return c;
}

/// Configuration file of TensorRT-LLM.
std::string yaml_of(const server_settings& s, bool chunks) {
  std::string y;
  if (chunks) y += "enable_chunked_prefill: true\n";
  if (s.layout.data > 1) y += "enable_attention_dp: true\n";
  y += s.cuda_graphs ? cat("cuda_graph_config:\n  enable_padding: true\n  max_batch_size: ",
                           flag_count(per_group(s)), "\n")
                     : std::string("cuda_graph_config: null\n");
  if (s.kv == pm::number_format::fp8) y += "kv_cache_config:\n  dtype: fp8\n";
  const bool n_grams = s.speculation && !s.speculation->own_heads;
  if (n_grams || s.role == server_role::prefill) y += "disable_overlap_scheduler: true\n";
  if (s.speculation) {
    const std::string length = std::to_string(s.speculation->length);
    y += n_grams ? cat("speculative_config:\n  decoding_type: NGram\n  max_draft_len: ", length,
                       "\n  max_matching_ngram_size: 4\n")
                 : cat("speculative_config:\n  decoding_type: MTP\n  num_nextn_predict_layers: ",
                       length, "\n");
  }
  if (s.role != server_role::whole) y += "cache_transceiver_config:\n  backend: NIXL\n";
  return y;
}

server_command trtllm(const server_settings& s) {
  constexpr double default_tokens = 8192.0;
  server_command c{{"trtllm-serve", "\"$MODEL\""}, {}, {}, {}};
  const auto add = [&c](const char* flag, std::string value = {}) {
    c.flags.emplace_back(flag, std::move(value));
  };
  // With DP attention --tp_size is the number of all ranks of a stage.
  add("--tp_size", std::to_string(s.layout.stage_ranks()));
  if (s.layout.pipeline > 1) add("--pp_size", std::to_string(s.layout.pipeline));
  if (s.layout.expert > 1) add("--ep_size", std::to_string(s.layout.expert));
  add("--max_batch_size", flag_count(per_group(s)));
  if (s.step_tokens) add("--max_num_tokens", flag_count(*s.step_tokens));
  add("--kv_cache_free_gpu_memory_fraction", flag_share(s.memory_share));
  add("--max_seq_len", flag_count(s.context));
  if (s.kv != pm::number_format::fp8 && !is_16_bit(s.kv)) note_cache(c, s, "TensorRT-LLM");
  c.yaml = yaml_of(s, s.step_tokens || divides_prompts(s.prompt, per_group(s), default_tokens));
  return c;
}

}  // namespace

std::string version_of(pm::engine e) {
  if (e == pm::engine::vllm) return "vLLM after 0.24 (017e9f444, 2026-08-17)";
  if (e == pm::engine::sglang) return "SGLang after 0.5.15 (8905cbd42, 2026-07-20)";
  return "TensorRT-LLM 1.3 (release candidates of 2026, PyTorch backend)";
}

server_command command_of(const server_settings& s) {
  if (s.by == pm::engine::vllm) return vllm(s);
  if (s.by == pm::engine::sglang) return sglang(s);
  return trtllm(s);
}

}  // namespace napkin
