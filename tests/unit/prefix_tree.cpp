// Shared prefixes: trees by hand, and replayed request by request through a cache that forgets.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <list>
#include <map>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/serving/prefix_tree.hpp>
#include <utility>
#include <vector>

#include "support/near.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"
#include "support/scalars.hpp"

namespace unit_prefix_tree {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;
using perfmodel_test::near;
using perfmodel_test::random_numbers;
using perfmodel_test::refusal;

namespace {

constexpr pm::prefix_tree tenants{
    .levels = {{500, 1}, {2000, 40}, {3000, 600}}, .own_tokens = 200, .output_tokens = 300};
// In constant expressions too, where a search may not divide by 0.
static_assert(pm::prefix_hit_of(tenants, 5e4).hit_rate > 0.05);
static_assert(pm::prefix_hit_of(tenants, 1e6).hit_rate < 1.0);
static_assert(pm::prefix_hit_of(tenants, 1e6).hit_rate > pm::prefix_hit_of(tenants, 5e4).hit_rate);

/// A cache of nodes, most recently used first.
class replay {
 public:
  replay(const pm::prefix_tree& tree, double capacity) : tree_(tree), capacity_(capacity) {}

  double hit(random_numbers& r, int requests) {
    double found = 0, asked = 0;
    for (int i = 0; i < requests; ++i) {
      if (i == requests / 2) found = asked = 0;  // warm
      // Conversation c belongs to tenant c mod tenants, so that each level is as likely.
      const int leaf = static_cast<int>(r.uniform() * tree_.levels[2].prefixes);
      touch({3, next_++}, tree_.own_tokens + tree_.output_tokens);
      for (int level = 2; level >= 0; --level) {
        const auto& l = tree_.levels[static_cast<std::size_t>(level)];
        if (touch({level, leaf % static_cast<int>(l.prefixes)}, l.tokens)) found += l.tokens;
      }
      asked += tree_.tokens();
      while (used_ > capacity_) forget();
    }
    return found / asked;
  }

 private:
  using node = std::pair<int, int>;
  bool touch(const node& n, double tokens) {
    const auto at = where_.find(n);
    const bool there = at != where_.end();
    if (there) order_.erase(at->second.first);
    order_.push_front(n);
    where_[n] = {order_.begin(), tokens};
    if (!there) used_ += tokens;
    return there;
  }
  void forget() {
    const auto at = where_.find(order_.back());
    used_ -= at->second.second;
    where_.erase(at);
    order_.pop_back();
  }

  const pm::prefix_tree& tree_;
  double capacity_, used_ = 0;
  int next_ = 0;
  std::list<node> order_{};
  std::map<node, std::pair<std::list<node>::iterator, double>> where_{};
};

}  // namespace

TEST_CASE("prefix tree: by hand, what is shared and what fits") {
  // One prefix of 1000 before 500 of its own and 500 of an answer: forgotten after t requests of
  // 1000.
  const pm::prefix_tree one{.levels = {{1000, 10}}, .own_tokens = 500, .output_tokens = 500};
  const double t = 7;
  const double capacity = 10 * 1000 * (1 - std::exp(-t / 10)) + t * 1000;
  const auto e = pm::prefix_hit_of(one, capacity);
  CHECK(near(e.requests_until_eviction, t, 1e-9));
  CHECK(near(e.hit_rate, (1 - std::exp(-0.7)) * 1000 / 1500, 1e-9));
  // If everything fits: all that is shared, 5500 of 5700.
  CHECK(near(pm::prefix_hit_of(tenants, 1e12).hit_rate, 5500.0 / 5700, 1e-9));
  CHECK(pm::prefix_hit_of(tenants, 2e5).hit_rate < pm::prefix_hit_of(tenants, 1e6).hit_rate);
  // A cache smaller than one request remembers next to nothing.
  CHECK(pm::prefix_hit_of(tenants, 100).hit_rate < 0.02);
}

TEST_CASE("prefix tree: replayed through a cache that forgets what was used longest ago",
          "[long]") {
  for (const double capacity : {20e3, 60e3, 200e3, 600e3, 1.5e6, 3e6}) {
    random_numbers r(7);
    const double replayed = replay(tenants, capacity).hit(r, 20000);
    INFO(capacity << ": " << replayed);
    CHECK(std::fabs(pm::prefix_hit_of(tenants, capacity).hit_rate - replayed) < 0.01);
  }
}

TEST_CASE("prefix tree: sequences that hold their prefix once") {
  const pm::prefix_tree one{.levels = {{1000, 1}}, .own_tokens = 300, .output_tokens = 200};
  CHECK(near(pm::sequences_sharing(one, 51000), 100, 1e-9));
  const pm::prefix_tree none{.own_tokens = 300, .output_tokens = 200};
  CHECK(near(pm::sequences_sharing(none, 50000), 100, 1e-9));
  // Different ones of 40 that 100 requests have, counted by chance.
  random_numbers r(3);
  double different = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<bool> seen(40);
    for (int k = 0; k < 100; ++k) seen[static_cast<std::size_t>(r.uniform() * 40)] = true;
    for (const bool s : seen) different += s ? 1.0 / 2000 : 0;
  }
  CHECK(std::fabs(pm::detail::distinct_prefixes(40.0, 100.0) - different) < 0.1);
  const pm::prefix_tree some{.levels = {{1000, 40}}, .own_tokens = 300, .output_tokens = 200};
  CHECK(near(
      pm::sequences_sharing(some, 100 * 500 + 1000 * pm::detail::distinct_prefixes(40.0, 100.0)),
      100, 1e-9));
}

TEST_CASE("prefix tree: of a conversation") {
  const pm::conversation talk{.turns = 3, .question = 100, .output = 200};
  CHECK(near(talk.history(), (0 + 300 + 600) / 3.0));
  const auto tree = pm::prefix_tree_of(talk, 500, 20);
  CHECK(near(tree.tokens(), 500 + 300 + 100));
  CHECK(near(pm::prefix_hit_of(tree, 1e12).hit_rate, 800.0 / 900, 1e-9));
}

TEST_CASE("prefix tree: bad ones") {
  auto bad = tenants;
  bad.own_tokens = 0;
  CHECK(
      refusal([&] { (void)pm::prefix_hit_of(bad, 1e6); }).starts_with("PM-E010: own_tokens is 0"));
  CHECK(refusal([] { (void)pm::prefix_hit_of(tenants, 0); }).starts_with("PM-E010: capacity is 0"));
  bad = tenants;
  bad.levels[2].prefixes = 3;
  CHECK(refusal([&] { (void)pm::prefix_hit_of(bad, 1e6); }).starts_with("PM-E031: a level"));
}

TEST_CASE("prefix tree: what is shared leaves a token at least, and a level no fewer than before") {
  const pm::prefix_levels levels{{600, 3}, {399, 3}};
  CHECK_NOTHROW(pm::detail::check_shared(levels, 1000.0, "fewer"));
  CHECK(refusal([&] { pm::detail::check_shared(levels, 999.0, "fewer"); }) ==
        "PM-E010: shared.tokens is 999; allowed: fewer");
}

TEST_CASE("scalars: prefix tree") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        pm::basic_prefix_tree<T> tree{.own_tokens = x[2], .output_tokens = x[3]};
        tree.levels.push_back({x[0], T(1.0)});
        tree.levels.push_back({x[1], T(40.0)});
        return pm::prefix_hit_of(tree, x[4]).hit_rate;
      },
      500.0, 2000.0, 200.0, 300.0, 60000.0);
}

}  // namespace unit_prefix_tree
