// Threads: cost of a start and a wait; and two concurrent tasks.
// Tests: launch cost of a host; overlap.hpp: together at least the longer, at most about the sum.
#include <Eigen/Core>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <thread>

#include "machine.hpp"
#include "measure.hpp"

namespace perfmodel::validation {

void measure_threads(const host_session& s, recording& r) {
  std::vector<timed_case> cases;
  for (const int threads : {1, 2, 4}) {
    const auto count = std::make_shared<std::atomic<int>>(0);
    const auto run = [count](int n) {
      std::vector<std::thread> started;
      for (int i = 0; i < n; ++i) started.emplace_back([count] { ++*count; });
      for (std::thread& t : started) t.join();
    };
    run(s.breaks("drop_thread") ? threads - 1 : threads);
    r.check(std::to_string(threads) + " threads that ran", std::abs(*count - threads), 0.0);
    point p{"launch_time", "s", {{"mode", "thread"}, {"kernels", threads}, {"side", "host"}}, {}};
    cases.push_back(
        {std::move(p), [run, threads](int) { run(threads); }, static_cast<double>(threads), true});
  }
  measure_all(s, r, cases);
}

namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

void measure_overlap(const host_session& s, recording& r) {
  const int edge = s.reduced ? 48 : 512;
  const std::size_t bytes = static_cast<std::size_t>(s.reduced ? 1e5 : 64e6);
  const auto x = std::make_shared<matrix>(matrix::Random(edge, edge));
  const auto y = std::make_shared<matrix>(edge, edge);
  const auto from = std::make_shared<Eigen::ArrayXf>(
      Eigen::ArrayXf::Random(static_cast<Eigen::Index>(bytes / 4)));
  const auto to = std::make_shared<Eigen::ArrayXf>(from->size());
  const auto compute = [x, y] {
    y->noalias() = *x * *x;
    keep(*y->data());
  };
  const auto copy = [from, to] {
    *to = *from;
    keep(*to->data());
  };
  const auto together = [compute, copy, skips = s.breaks("drop_copy")] {
    std::thread other([copy, skips] {
      if (!skips) copy();
    });
    compute();
    other.join();
  };
  to->setConstant(std::nanf(""));
  y->setConstant(std::nanf(""));
  together();
  const bool copied = (*to == *from).all();
  r.check("the copy beside the product: values that differ", copied ? 0.0 : 1.0, 0.0);
  const Eigen::MatrixXd exact = x->cast<double>() * x->cast<double>();
  r.check("the product beside the copy", (y->cast<double>() - exact).norm() / exact.norm(), 1e-5);
  std::vector<timed_case> cases;
  const auto add = [&](const char* arrangement, std::function<void(int)> run) {
    point p{"overlap_time",
            "s",
            {{"other", "sm_copy"},
             {"arrangement", arrangement},
             {"m", edge},
             {"n", edge},
             {"k", edge},
             {"bytes", static_cast<double>(bytes)},
             {"format", "fp32"}},
            {}};
    cases.push_back({std::move(p), std::move(run), 1.0, true});
  };
  add("compute_alone", [compute](int) { compute(); });
  add("other_alone", [copy](int) { copy(); });
  add("together", [together](int) { together(); });
  measure_all(s, r, cases);
}

}  // namespace perfmodel::validation
