// A list of layers holds eight kinds of mixer, and a constant with nine does not compile.
// expect: out_of_range
// expect: kinds of mixer
#include <perfmodel/model/layers.hpp>
namespace pm = perfmodel;

constexpr pm::layer_list kinds(int n) {
  pm::layer_list list;
  for (int i = 1; i <= n; ++i) {
    list.add({1, pm::attention_shape{.query_heads = 8, .kv_heads = 8, .head_dim = 8.0 * i}, {}});
  }
  return list;
}

#ifdef MUST_FAIL
inline constexpr pm::layer_list layers = kinds(9);
#else
inline constexpr pm::layer_list layers = kinds(8);
#endif
