// A bound is a bound: no published measurement of attention or of an expert block is faster.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/roofline.hpp>

#include <fit/published.hpp>
#include "support/shared.hpp"

namespace property_operators_measured {

namespace pm = perfmodel;

namespace {

/// They were replayed without emptying L2: what is below twice its size may come from there.
template <class Row>
void not_faster(const Row& row, pm::demand d) {
  if (d.dram.total() < 2.0 * row.device->l2.capacity) d.dram = {};
  const double bound = pm::roofline(*row.device, d).time.value();
  if (bound <= row.seconds) return;
  INFO(row.gpu << ' ' << row.group << ' ' << row.kind() << ": bound " << bound * 1e6 << " us");
  CHECK(bound <= row.seconds);
}

}  // namespace

TEST_CASE("attention is never faster than its bound", "[operators][shared]") {
  const auto rows = published::attention_rows(perfmodel_test::measured_folder());
  CHECK(rows.size() > 1000);
  for (const auto& r : rows) {
    not_faster(r, r.decode ? demand_of(r.decode_workload()) : demand_of(r.prefill_workload()));
  }
}

TEST_CASE("an expert block is never faster than its bound", "[operators][shared]") {
  const auto rows = published::moe_rows(perfmodel_test::measured_folder());
  CHECK(rows.size() > 500);
  for (const auto& r : rows) not_faster(r, demand_of(r.workload));
}

}  // namespace property_operators_measured
