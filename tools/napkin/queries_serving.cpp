// The query `serving`: its keys, and its predictions.
#include <utility>
#include <vector>

#include "query.hpp"
#include "service_keys.hpp"
#include "serving_query.hpp"

namespace napkin {

namespace queries {

std::vector<key> serving::keys() {
  std::vector<key> k = {model_key(), accelerator_key()};
  const auto append = [&k](std::vector<key> more) {
    for (key& one : more) k.push_back(std::move(one));
  };
  append(replica_keys("replicas that share the load"));
  append(load_keys());
  k.push_back(count("stream_interval", "output tokens per streamed response chunk").otherwise("1"));
  k.push_back(number("held_iterations",
                     "engine steps for which the scheduler holds back new requests", 0.0, 1e6)
                  .otherwise("0"));
  append(storage_keys());
  append(reservation_keys());
  append(engine_option_keys());
  append(image_keys());
  k.push_back(engine_key());
  k.push_back(engine_version_key());
  k.push_back(prefix_caching_key());
  k.push_back(cuda_graph_tokens_key());
  append(draft_keys());
  append(pool_keys());
  append(target_keys());
  k.push_back(word("method",
                   "closed_form, simulation, or auto: simulation for finite runs, arrival rates, a "
                   "concurrency up to 2 and outputs under 64 tokens, else closed_form",
                   {"auto", "closed_form", "simulation"})
                  .otherwise("auto"));
  return k;
}

}  // namespace queries

std::vector<query> serving_queries() {
  return {declare<queries::serving>()};
}

}  // namespace napkin
