// Prints results with all their bits.
#include <cstdio>
#include <vector>

std::vector<double> results();

int main() {
  const std::vector<double> all = results();
  for (const double x : all) std::printf("%a\n", x);
  return all.size() > 400 ? 0 : 1;
}
