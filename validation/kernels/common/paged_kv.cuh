// Paged KV cache: what a block table costs, and how many blocks there are.
//
// Measures: decode attention through a block table of blocks of 1 to 128 positions, in order and
//   shuffled, against the same cache without a table (contiguous); and how many blocks of a 70B
//   model's size can be allocated until the device is full.
// How: the kernel of attention.cu with one more load for each key; a block's keys of one head are
//   contiguous, so that small blocks are small reads. The caches are larger than four L2s.
// Tests: kv_cache.hpp: time is that of the cache's bytes, plus the indirection; capacity = (memory
//   - memory in use) / bytes of a block.
#pragma once

#include <cmath>
#include <cstdint>

#include "decode_attention.cuh"
#include "experiment.cuh"

namespace perfmodel::validation::paged {

using bf16 = __nv_bfloat16;
constexpr int head_dim = 128, group = 4;
constexpr float log2_e = 1.44269504F;

struct size {
  int batch, context, kv_heads;
  int query_heads() const { return kv_heads * group; }
};

/// Keys and values for a whole table of blocks, the queries, and what splits need.
struct cache {
  size is;
  int shift, blocks;  ///< block shift and number of blocks of a sequence
  device_buffer<bf16> keys, values, queries, out;
  device_buffer<int> table;
  device_buffer<float> parts;
  device_buffer<float2> states;
  std::vector<int> host_table;

  cache(const size& of, int block_shift, bool shuffled)
      : is(of),
        shift(block_shift),
        blocks((of.context + (1 << block_shift) - 1) >> block_shift),
        keys(rows() * head_dim),
        values(rows() * head_dim),
        queries(heads() * head_dim),
        out(heads() * head_dim),
        table(static_cast<std::size_t>(of.batch) * static_cast<std::size_t>(blocks)),
        parts(heads() * 64 * head_dim),
        states(heads() * 64),
        host_table(block_table(of.batch, blocks, shuffled, 4)) {
    random_fill(keys, 41);
    random_fill(values, 42);
    random_fill(queries, 43);
    table.upload(host_table);
  }

  std::size_t rows() const {
    return (static_cast<std::size_t>(is.batch) * static_cast<std::size_t>(blocks) *
            static_cast<std::size_t>(is.kv_heads))
           << static_cast<unsigned>(shift);
  }
  std::size_t heads() const {
    return static_cast<std::size_t>(is.batch) * static_cast<std::size_t>(is.query_heads());
  }

  /// paged: through the table. Without it, the memory is read as one block a sequence.
  decode_attention_shape shape(int sms, bool paged) const {
    decode_attention_shape a;
    a.queries = queries.data();
    a.keys = keys.data();
    a.values = values.data();
    a.out = out.data();
    a.parts = parts.data();
    a.states = states.data();
    a.batch = is.batch;
    a.query_heads = is.query_heads();
    a.kv_heads = is.kv_heads;
    a.query_stride = is.query_heads() * head_dim;
    a.context = is.context;
    a.capacity = paged ? 1 << shift : blocks << shift;
    a.scale = log2_e / std::sqrt(static_cast<float>(head_dim));
    if (paged) {
      a.table = table.data();
      a.blocks = blocks;
      a.block_shift = shift;
    }
    choose_splits(a, sms);
    return a;
  }
};

/// One query head of one sequence in double precision, through the table.
inline void reference_head(const cache& c, int sequence, int head, std::vector<double>& out) {
  const auto value_at = [&](std::uint32_t seed, int position, int d) {
    const int block =
        c.host_table[static_cast<std::size_t>(sequence * c.blocks + (position >> c.shift))];
    const std::size_t row =
        paged_position(block, position, c.shift, c.is.kv_heads) +
        (static_cast<std::size_t>(head / group) << static_cast<unsigned>(c.shift));
    return static_cast<double>(
        random_stored<bf16>(seed, row * head_dim + static_cast<std::size_t>(d)));
  };
  std::vector<double> score(static_cast<std::size_t>(c.is.context));
  double most = -1e300, sum = 0;
  const auto q = static_cast<std::size_t>(sequence * c.is.query_heads() + head) * head_dim;
  for (int p = 0; p < c.is.context; ++p) {
    double dot = 0;
    for (int d = 0; d < head_dim; ++d) {
      dot += static_cast<double>(random_stored<bf16>(43, q + static_cast<std::size_t>(d))) *
             value_at(41, p, d);
    }
    score[static_cast<std::size_t>(p)] = dot / std::sqrt(static_cast<double>(head_dim));
    most = (std::max)(most, score[static_cast<std::size_t>(p)]);
  }
  for (double& x : score) sum += x = std::exp(x - most);
  for (int d = 0; d < head_dim; ++d) {
    double v = 0;
    for (int p = 0; p < c.is.context; ++p)
      v += score[static_cast<std::size_t>(p)] * value_at(42, p, d);
    out.push_back(v / sum);
  }
}

inline void check(const session& s, recording& r, int context, int shift, bool shuffled) {
  cache c({2, context, 2}, shift, shuffled);
  if (s.breaks("wrong_block")) {
    std::vector<int> wrong = c.host_table;
    std::swap(wrong.front(), wrong.back());
    c.table.upload(wrong);
  }
  c.out.poison();
  // Splits as for 16 SMs or more: in as many splits as there are keys for.
  launch_decode_attention<head_dim, group>(c.shape((std::max)(s.sms(), 16), true), s.stream,
                                           s.breaks("drop_paged_split"));
  const std::vector<bf16> result = c.out.download();
  std::vector<double> reference;
  for (int sequence = 0; sequence < c.is.batch; ++sequence) {
    for (int head = 0; head < c.is.query_heads(); ++head)
      reference_head(c, sequence, head, reference);
  }
  std::string name = "attention over " + std::to_string(context);
  name.append(" keys through blocks of ").append(std::to_string(1 << shift));
  r.check(name.append(shuffled ? ", shuffled" : ", ordered"),
          relative_error<bf16>(result, reference), 6e-3);
}

inline void measure_attention(const session& s, recording& r, const size& of) {
  const auto add = [&](const cache& c, const char* order, int block, bool paged) {
    const auto a = c.shape(s.sms(), paged);
    const double bytes =
        2.0 * 2.0 * of.batch * static_cast<double>(of.context) * of.kv_heads * head_dim;
    const double table = paged ? 4.0 * of.batch * c.blocks : 0.0;
    const double heads = 2.0 * 2.0 * static_cast<double>(c.heads()) * head_dim;
    const auto samples = time_in_graph(
        s.stream, s.plan, [&](int) { launch_decode_attention<head_dim, group>(a, s.stream); });
    r.add({"paged_attention_time",
           "s",
           {{"block_size", block},
            {"order", order},
            {"splits", a.splits},
            {"batch", of.batch},
            {"context", of.context},
            {"query_heads", of.query_heads()},
            {"kv_heads", of.kv_heads},
            {"head_dim", head_dim},
            {"format", "bf16"},
            {"cache", bytes > 4.0 * s.device.l2_bytes ? "cold" : "warm"},
            {"bytes_read", bytes + table + heads / 2.0},
            {"bytes_written", heads / 2.0},
            {"flop", 4.0 * static_cast<double>(c.heads()) * of.context * head_dim}},
           samples});
  };
  for (int shift = 0; shift <= 7; ++shift) {
    r.part("blocks of " + std::to_string(1 << shift), [&] {
      for (const bool shuffled : {false, true}) {
        const cache c(of, shift, shuffled);
        if (shift == 7 && !shuffled) add(c, "contiguous", of.context, false);
        add(c, shuffled ? "shuffled" : "ordered", 1 << shift, true);
      }
    });
  }
}

/// Blocks until the device is full, in slabs: one allocation a block would measure the allocator.
inline void measure_capacity(const session& s, recording& r) {
  // Llama-70B on one rank of eight: 80 layers, one KV head, keys and values in bf16; 16 positions.
  const double block_bytes = 16.0 * 80.0 * 2.0 * 128.0 * 2.0;
  const auto slab = static_cast<std::size_t>(block_bytes) * (s.reduced ? 16 : 128);
  std::size_t free = 0, total = 0;
  PERFMODEL_CUDA(cudaMemGetInfo(&free, &total));
  const std::size_t reserved =
      s.reduced ? free - (std::min)(free, 20 * slab) : std::size_t{1} << 30U;
  std::vector<void*> slabs;
  std::size_t left = free;
  while (left > reserved + slab) {
    void* p = nullptr;
    if (cudaMalloc(&p, slab) != cudaSuccess) {
      (void)cudaGetLastError();
      break;
    }
    slabs.push_back(p);
    PERFMODEL_CUDA(cudaMemGetInfo(&left, &total));
  }
  const double blocks = static_cast<double>(slabs.size()) * static_cast<double>(slab) / block_bytes;
  if (s.breaks("count_twice") && !slabs.empty()) slabs.push_back(slabs.back());
  // Each slab is there by itself: its first and last word keep what was written.
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    const auto tag = static_cast<unsigned>(i + 1);
    PERFMODEL_CUDA(cudaMemcpy(slabs[i], &tag, sizeof(tag), cudaMemcpyHostToDevice));
    PERFMODEL_CUDA(cudaMemcpy(static_cast<char*>(slabs[i]) + slab - sizeof(tag), &tag, sizeof(tag),
                              cudaMemcpyHostToDevice));
  }
  double wrong = 0;
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    unsigned first = 0, last = 0;
    PERFMODEL_CUDA(cudaMemcpy(&first, slabs[i], sizeof(first), cudaMemcpyDeviceToHost));
    PERFMODEL_CUDA(cudaMemcpy(&last, static_cast<char*>(slabs[i]) + slab - sizeof(last),
                              sizeof(last), cudaMemcpyDeviceToHost));
    if (first != i + 1 || last != i + 1) ++wrong;
  }
  if (s.breaks("count_twice") && !slabs.empty()) slabs.pop_back();
  for (void* p : slabs) PERFMODEL_CUDA(cudaFree(p));
  r.check("slabs of blocks that are not there by themselves", wrong, 0.0);
  r.add({"kv_blocks",
         "1",
         {{"block_bytes", block_bytes},
          {"free_bytes", static_cast<double>(free)},
          {"total_bytes", static_cast<double>(total)},
          {"reserved_bytes", static_cast<double>(reserved)}},
         {blocks}});
}

inline void measure(const session& s, recording& r) {
  r.part("attention", [&] {
    for (const int shift : {0, 4, 7}) {
      for (const bool shuffled : {false, true}) check(s, r, 75, shift, shuffled);
    }
    check(s, r, 300, 4, true);  // in two splits or more
    measure_attention(s, r, s.reduced ? size{1, 40, 1} : size{16, 8192, 8});
  });
  r.part("capacity", [&] { measure_capacity(s, r); });
}

}  // namespace perfmodel::validation::paged
