#include <own/ridge.hpp>

// 1000 TFLOP/s over 4 TB/s: 250 FLOP/byte.
int main() {
  return own::is_memory_bound(249) && !own::is_memory_bound(251) ? 0 : 1;
}
