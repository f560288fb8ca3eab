// Writes tests/data/sweep_answers.tsv: every question of the sweep with the library's answers.
// Run it only where an answer changes on purpose, and read the difference:
//
//   g++ -std=c++20 -O1 -Iinclude -Itools/library -Itests -I/usr/include/eigen3 tests/sweep/record.cpp -o record
//   ./record > tests/data/sweep_answers.tsv
#include <cstdio>

#include "sweep/result.hpp"

int main() {
  std::printf("index\tkind\tquestion\tanswers\n");
  for (const perfmodel_sweep::question& q : perfmodel_sweep::all_questions()) {
    std::printf("%d\t%s\t%s\t", q.index, q.kind.c_str(), q.text().c_str());
    const char* before = "";
    for (const double x : perfmodel_sweep::answer(q).flat()) {
      std::printf("%s%.17g", before, x);
      before = " ";
    }
    std::printf("\n");
  }
  return 0;
}
