// check_recordings FILES...: reads each as compare would, and prints in a line what it holds.
#include <exception>
#include <iostream>

#include "read_recording.hpp"

int main(int argc, char** argv) {
  int status = argc > 1 ? 0 : 2;
  for (int i = 1; i < argc; ++i) {
    try {
      const auto r = perfmodel::validation::read_recording(argv[i]);
      std::cout << r.experiment << ": " << r.points.size() << " points";
      for (const auto& f : r.failed) std::cout << "; failed: " << f.part << ": " << f.reason;
      std::cout << '\n';
    } catch (const std::exception& e) {
      std::cerr << e.what() << '\n';
      status = 1;
    }
  }
  return status;
}
