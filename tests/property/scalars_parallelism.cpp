// Parallel layouts over every scalar.
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/parallel/zero.hpp>
#include <support/scalars.hpp>

namespace property_scalars_parallelism {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;

namespace {

template <class T>
pm::basic_interconnect<T> link_of(const T& rate) {
  pm::basic_interconnect<T> l;
  l.kind = pm::link_kind::nvlink;
  l.bandwidth = pm::bandwidth<T>::from_value(rate);
  l.ranks = 8;
  return l;
}

}  // namespace

TEST_CASE("tensor parallelism agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 5>& x) {
        pm::basic_tensor_parallelism<T> p;
        p.ranks = 8;
        p.layers = x[1];
        p.batch = x[2];
        p.tokens = x[3];
        p.hidden = x[4];
        return pm::communication_time(link_of(x[0]), p).time.value();
      },
      450e9, 80.0, 32.0, 2048.0, 8192.0);
}

TEST_CASE("pipeline parallelism agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 3>& x) { return pm::pipeline_bubble(x[0], x[1], x[2]); }, 4.0,
      8.0, 2.0);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::pipeline_parallel_time(pm::duration<T>::from_value(x[0]), x[1], x[2], x[3])
            .value();
      },
      0.01, 4.0, 8.0, 2.0);
  check_scalars([]<class T>(const std::array<T, 2>& x) { return pm::layers_per_stage(x[0], x[1]); },
                79.0, 4.5);
}

TEST_CASE("shares of KV heads agree over all scalars") {
  const auto heads = []<class T>(const std::array<T, 2>& x) {
    return pm::kv_heads_per_rank(x[0], x[1]);
  };
  check_scalars(heads, 8.0, 4.0);
  check_scalars(heads, 8.0, 16.0);
  const auto copies = []<class T>(const std::array<T, 2>& x) {
    return pm::kv_replication(x[0], x[1]);
  };
  check_scalars(copies, 8.0, 4.0);
  check_scalars(copies, 8.0, 16.0);
}

TEST_CASE("expert parallelism agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 5>& x) {
        pm::basic_expert_parallelism<T> p;
        p.ranks = 8;
        p.tokens = x[1];
        p.hidden = x[2];
        p.top_k = x[3];
        p.imbalance = x[4];
        return pm::communication_time(link_of(x[0]), p).time.value();
      },
      450e9, 128.0, 7168.0, 8.0, 1.3);
}

TEST_CASE("data parallelism and ZeRO agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::collective_time(link_of(x[0]), pm::gradient_all_reduce(8, x[1], pm::bf16))
            .time.value();
      },
      450e9, 8.03e9);
  for (const auto stage : {pm::zero_stage::none, pm::zero_stage::optimizer,
                           pm::zero_stage::gradients, pm::zero_stage::parameters}) {
    check_scalars(
        [=]<class T>(const std::array<T, 4>& x) {
          return pm::zero_memory<T>(stage, 64, x[0], {x[1], x[2], x[3]}).value();
        },
        7.5e9, 2.0, 2.0, 12.0);
    check_scalars(
        [=]<class T>(const std::array<T, 3>& x) {
          return pm::zero_traffic<T>(stage, 64, x[0], {x[1], x[2], T(12.0)}).quantity().value();
        },
        7.5e9, 2.0, 2.0);
  }
}

TEST_CASE("ring attention agrees over all scalars, hidden and exposed") {
  const auto time = []<class T>(const std::array<T, 5>& x) {
    pm::basic_ring_attention<T> p;
    p.ranks = 8;
    p.tokens = x[2];
    p.query_heads = x[3];
    p.kv_heads = x[4];
    p.head_dim = T(128.0);
    return pm::ring_attention_time(link_of(x[0]), pm::flop_rate<T>::from_value(x[1]), p)
        .time.value();
  };
  check_scalars(time, 450e9, 900e12, 3200.0, 64.0, 64.0);
  check_scalars(time, 450e9, 900e12, 64000.0, 64.0, 64.0);
}

TEST_CASE("communication concurrent with compute agrees over all scalars") {
  const auto beside = []<class T>(const std::array<T, 4>& x) {
    return pm::overlap_with_collective(pm::duration<T>::from_value(x[0]),
                                       pm::duration<T>::from_value(x[1]), x[2], x[3])
        .time.value();
  };
  check_scalars(beside, 0.010, 0.005, 132.0, 20.0);
  check_scalars(beside, 0.010, 0.050, 132.0, 20.0);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::pipeline_parallel_time(pm::duration<T>::from_value(x[0]), x[1], x[2], x[3])
            .value();
      },
      0.010, 4.0, 8.0, 2.0);
}

TEST_CASE("a data-parallel step agrees over all scalars, hidden and exposed") {
  for (const auto stage :
       {pm::zero_stage::none, pm::zero_stage::gradients, pm::zero_stage::parameters}) {
    const auto time = [=]<class T>(const std::array<T, 6>& x) {
      pm::basic_data_parallel_step<T> p;
      p.ranks = 8;
      p.parameters = x[1];
      p.forward = pm::duration<T>::from_value(x[2]);
      p.backward = pm::duration<T>::from_value(x[3]);
      p.pieces = x[4];
      p.stage = stage;
      p.sms = T(132.0);
      p.taken = x[5];
      return pm::data_parallel_time(link_of(x[0]), p).time.value();
    };
    check_scalars(time, 450e9, 8.03e9, 0.0831, 0.1663, 32.0, 24.0);
    check_scalars(time, 450e9, 8.03e9, 0.00831, 0.01663, 32.0, 24.0);
  }
}

TEST_CASE("activations of a sequence agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        pm::basic_layer_activations<T> a;
        a.tensor = 8;
        a.batch = x[0];
        a.tokens = x[1];
        a.hidden = x[2];
        a.heads = x[3];
        a.scores = true;
        return pm::activation_bytes(a).value();
      },
      2.0, 2048.0, 12288.0, 96.0);
}

}  // namespace property_scalars_parallelism
