// Collectives on the fabric that joins the accelerators.
#include <algorithm>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/parallel/hierarchy.hpp>
#include <string>
#include <string_view>

#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct collective {
  static constexpr const char* name = "collective";
  static constexpr bool takes_a_measurement = true;
  static constexpr profile_part part = profile_part::links;
  static constexpr const char* help = "Collective operation on one fabric";
  static std::vector<key> keys() {
    return {accelerator_key(),
            word("operation", "collective operation",
                 {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast",
                  "point_to_point"}),
            degree("ranks", "number of ranks"),
            amount_of_bytes("bytes", "buffer size, as nccl-tests counts it").above_zero(),
            word("implementation", "implementation of the collective; default: the fastest",
                 {"nccl", "one_shot", "two_shot", "custom", "deepep", "deepep_low_latency"})
                .optional(),
            word("phase", "all-to-all of experts by DeepEP: dispatch or combine",
                 {"dispatch", "combine"})
                .otherwise("dispatch"),
            degree("top_k", "experts per token, for deepep, which sends a token once to a rank")
                .otherwise("8"),
            degree("sms", "SMs that send, for deepep").otherwise("24"),
            word("algorithm", "algorithm; default: the fastest",
                 {"ring", "tree", "one_shot", "two_shot", "in_network"})
                .optional(),
            rate("link_bytes_per_s",
                 "one-way link bandwidth per accelerator; default: the accelerator's"),
            rate("network_bytes_per_s",
                 "one-way network bandwidth per accelerator, for ranks on several nodes"),
            degree("node_ranks", "accelerators per node; default: all that the fabric joins")
                .optional(),
            word("launch", "CUDA graph replay or stream launch", {"graph", "stream"})
                .otherwise("graph"),
            engine_key()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_collective<T> c;
    for (const auto o : {pm::collective_op::all_reduce, pm::collective_op::all_gather,
                         pm::collective_op::reduce_scatter, pm::collective_op::all_to_all,
                         pm::collective_op::broadcast, pm::collective_op::point_to_point}) {
      if (in.text("operation") == pm::name_of(o)) c.operation = o;
    }
    for (const auto i :
         {pm::collective_implementation::nccl, pm::collective_implementation::one_shot,
          pm::collective_implementation::two_shot, pm::collective_implementation::custom}) {
      if (in.text("implementation") == pm::name_of(i)) c.implementation = i;
    }
    for (const auto a : {pm::collective_algorithm::ring, pm::collective_algorithm::tree,
                         pm::collective_algorithm::one_shot, pm::collective_algorithm::two_shot,
                         pm::collective_algorithm::in_network}) {
      if (in.text("algorithm") == pm::name_of(a)) c.algorithm = a;
    }
    c.launch = in.text("launch") == "graph" ? pm::launch_mode::graph : pm::launch_mode::stream;
    c.ranks = in.whole("ranks");
    c.message = pm::message_bytes<T>(in.template amount<pm::bytes<T>>("bytes"));
    auto fabric = in.accelerator().fabric;
    if (in.has("link_bytes_per_s"))
      fabric.bandwidth = in.template amount<pm::bandwidth<T>>("link_bytes_per_s");
    const std::string_view by = in.has("implementation") ? in.text("implementation") : "";
    if (by.starts_with("deepep")) return by_deepep(in, fabric, c, mode);
    if (in.has("network_bytes_per_s")) return over_nodes(in, fabric, c, mode);
    const auto e = pm::collective_time(fabric, c, mode);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("algbw_bytes_per_s", "algbw", e.algbw.quantity());
    out.add("busbw_bytes_per_s", "busbw", e.busbw.quantity());
    out.add("wire_bytes", "bytes sent per rank", e.wire.quantity());
    out.explain(e);
    if constexpr (std::same_as<T, double>) {
      const bool own = e.algorithm == pm::collective_algorithm::one_shot ||
                       e.algorithm == pm::collective_algorithm::two_shot;
      if (own && c.operation == pm::collective_op::all_reduce) {
        out.sums = pm::collective_kind::own_kernels;
      }
    }
    return out;
  }

 private:
  static key rate(const char* key_name, const char* what) {
    key k = positive(key_name, what, 1e18).optional();
    k.unit = pm::exponents_of<pm::bandwidth<>>();
    return k;
  }
  /// DeepEP's all-to-all; its bound has the link alone.
  template <pm::Scalar T, class Mode>
  static outcome<T> by_deepep(inputs<T>& in, const pm::basic_interconnect<T>& fabric,
                              const pm::basic_collective<T>& c, const Mode& mode) {
    if (c.operation != pm::collective_op::all_to_all) {
      throw pm::error(pm::error_code::inconsistent, "implementation is " +
                                                        std::string(in.text("implementation")) +
                                                        "; allowed: with operation all_to_all");
    }
    namespace cat = pm::catalog;
    const bool low_latency = in.text("implementation") == "deepep_low_latency";
    const bool dispatch = in.text("phase") == "dispatch";
    const pm::catalog::deepep_kernels& k =
        low_latency
            ? (dispatch ? cat::deepep_low_latency_dispatch : cat::deepep_low_latency_combine)
            : (dispatch ? cat::deepep_dispatch : cat::deepep_combine);
    const double ranks = c.ranks,
                 inside = in.has("node_ranks") ? in.whole("node_ranks") : fabric.ranks;
    const auto message = in.template amount<pm::bytes<T>>("bytes");
    pm::bandwidth<T> network{};
    if (in.has("network_bytes_per_s"))
      network = in.template amount<pm::bandwidth<T>>("network_bytes_per_s");
    else if (ranks > inside)
      in.missing("network_bytes_per_s", "ranks on several nodes");
    const double top_k = in.whole("top_k"), sms = in.whole("sms");
    outcome<T> out;
    if constexpr (requires { mode.notes; }) {
      out.add("time_s", "time",
              cat::deepep_time(fabric, k, message, ranks, top_k, sms, inside, network));
      const bool measured = in.accelerator().name.view() == "h200_sxm" && !(ranks > inside);
      out.log_sigma = measured ? k.log_sigma : cat::in_quadrature(k.log_sigma, 0.2);
    } else {
      const double sent =
          low_latency ? (std::min(ranks, inside) - 1.0) / ranks : (ranks - 1.0) / ranks / top_k;
      out.add("time_s", "time", pm::duration<T>(message * sent / fabric.bandwidth.quantity()));
    }
    return out;
  }
  /// Hierarchical collective: the fabric inside a node, the network between nodes.
  template <pm::Scalar T, class Mode>
  static outcome<T> over_nodes(inputs<T>& in, const pm::basic_interconnect<T>& fabric,
                               const pm::basic_collective<T>& c, const Mode& mode) {
    pm::basic_hierarchy<T> h;
    h.inside = fabric;
    h.ranks_inside = in.has("node_ranks") ? in.whole("node_ranks") : fabric.ranks;
    h.between.kind = pm::link_kind::infiniband;
    h.between.bandwidth = in.template amount<pm::bandwidth<T>>("network_bytes_per_s");
    h.between.ranks = c.ranks;
    const auto e = pm::hierarchical_time(h, c, mode, mode);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("algbw_bytes_per_s", "algbw", e.algbw.quantity());
    out.add("busbw_bytes_per_s", "busbw", e.busbw.quantity());
    out.add("wire_bytes", "bytes sent per rank, fabric", e.wire_inside.quantity());
    out.add("network_wire_bytes", "bytes sent per rank, network", e.wire_between.quantity());
    out.explain(e);
    return out;
  }
};

}  // namespace

std::vector<query> collective_queries() {
  return {declare<collective>()};
}

}  // namespace napkin
