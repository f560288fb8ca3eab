// Eigen's matrix products on one core, FP32: y[m][n] = sum over k of x[m][k] w[n][k].
// Tests: roofline with the cost of packing the weights; a vector times a matrix goes another way in
// Eigen, and has no packing.
#include <Eigen/Core>
#include <cstdint>
#include <memory>

#include "../kernels/common/compare.hpp"
#include "machine.hpp"
#include "measure.hpp"

namespace perfmodel::validation {
namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct shape {
  int n, k;
};

matrix random_matrix(std::uint64_t seed, int rows, int columns) {
  matrix x(rows, columns);
  for (Eigen::Index i = 0; i < x.size(); ++i)
    x.data()[i] = random_value(seed, static_cast<std::uint64_t>(i));
  return x;
}

void multiply(const matrix& x, const matrix& w, matrix& y) {
  if (x.rows() == 1) {
    y.row(0).noalias() = x.row(0) * w.transpose();
  } else {
    y.noalias() = x * w.transpose();
  }
  keep(*y.data());
}

/// Some elements of the product against double precision.
void check(const host_session& s, recording& r, const matrix& x, const matrix& w, matrix& y) {
  y.setConstant(std::nanf(""));
  multiply(x, w, y);
  std::vector<float> result;
  std::vector<double> reference;
  for (Eigen::Index i = 0; i < 16; ++i) {
    const Eigen::Index row = i * (y.rows() - 1) / 15, column = (15 - i) * (y.cols() - 1) / 15;
    double sum = 0;
    for (Eigen::Index l = 0; l < x.cols() - (s.breaks("drop_term") ? 1 : 0); ++l) {
      sum += static_cast<double>(x(row, l)) * static_cast<double>(w(column, l));
    }
    result.push_back(y(row, column));
    reference.push_back(sum);
  }
  const bool finite = y.allFinite();
  std::string name = "product of " + std::to_string(x.rows());
  name.append(" x ")
      .append(std::to_string(w.rows()))
      .append(" x ")
      .append(std::to_string(x.cols()));
  r.check(name, finite ? relative_error<float>(result, reference) : std::nan(""), 1e-5);
}

}  // namespace

void measure_gemm(const host_session& s, recording& r) {
  std::vector<shape> shapes{{256, 256},   {512, 512},   {1024, 1024}, {2048, 2048},
                            {4096, 1024}, {1024, 4096}, {768, 3072},  {8192, 4096}};
  std::vector<int> rows{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  if (s.reduced) {
    shapes = {{64, 48}};
    rows = {1, 3, 16};
  }
  std::vector<timed_case> cases;
  for (const shape& nk : shapes) {
    const auto w = std::make_shared<matrix>(random_matrix(12, nk.n, nk.k));
    const double weights = 4.0 * nk.n * nk.k;
    for (const int m : rows) {
      if (2.0 * m * nk.n * nk.k > 9e9) continue;  // a tenth of a second and more each
      const auto x = std::make_shared<matrix>(random_matrix(11, m, nk.k));
      const auto y = std::make_shared<matrix>(m, nk.n);
      if (m == rows.front() || m == rows.back() || nk.n == shapes.front().n)
        check(s, r, *x, *w, *y);
      point p{"gemm_time",
              "s",
              {{"m", m},
               {"n", nk.n},
               {"k", nk.k},
               {"format", "fp32"},
               {"weight_copies", 1},
               {"library", "Eigen"},
               {"cache", weights < last_cache_bytes(s.device) ? "warm" : "cold"},
               {"bytes_read", weights + 4.0 * m * nk.k},
               {"bytes_written", 4.0 * m * nk.n},
               {"flop", 2.0 * m * nk.n * nk.k}},
              {}};
      cases.push_back({std::move(p), [x, w, y](int) { multiply(*x, *w, *y); }});
    }
  }
  measure_all(s, r, cases);
}

}  // namespace perfmodel::validation
