// Derivations: names, numbers and sources of what was computed.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/step.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace unit_explain {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

TEST_CASE("explain: a roofline reads as on paper") {
  pm::trace t;
  const auto a = pm::trace_inputs(cat::h100_sxm, t, "h100");
  const auto g = pm::trace_inputs(pm::gemm{.m = 1, .n = 8192, .k = 8192}, t);
  const auto e = pm::roofline(a, g);
  const auto d = pm::derivation_of(e.time);
  REQUIRE_FALSE(d.steps.empty());
  CHECK(d.steps.back().name == "time");
  CHECK(d.steps.back().value == "40.07 us");
  CHECK(d.steps.back().formula.starts_with("max("));
  const std::string text = pm::to_string(d);
  CHECK(text.find("h100.dram.bandwidth = 3.35 TB/s   [vendor (secondary source): ") !=
        std::string::npos);
  CHECK(text.find("n = 8192\n") != std::string::npos);
  // Without numbers each step is formula = value.
  const std::string brief = pm::to_string(d, false);
  CHECK(brief.size() < text.size());
  CHECK(brief.find(d.steps.back().formula + " = 40.07 us") != std::string::npos);
}

TEST_CASE("explain: the last line is the result, and every fact has its source") {
  pm::trace t;
  const pm::deployment llama{
      .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
  const auto d = pm::trace_inputs(llama, t);
  const auto i = pm::trace_inputs(pm::iteration{.batch = 16, .context = 4096}, t);
  const auto e = pm::step_bound(d, i);
  const auto lines = pm::derivation_of(e.time);
  CHECK(e.time.value().value() ==
        pm::step_bound(llama, {.batch = 16, .context = 4096}).time.value());
  REQUIRE_FALSE(lines.steps.empty());
  CHECK(lines.steps.back().name == "step time");
  CHECK(lines.steps.back().value == pm::to_string(e.time, 4));
  bool bandwidth = false;
  for (const auto& x : lines.inputs) {
    if (x.name == "device.dram.bandwidth") {
      bandwidth = true;
      CHECK(x.value == "3.35 TB/s");
      CHECK(x.source.starts_with("vendor (secondary source): "));
    }
  }
  CHECK(bandwidth);
}

TEST_CASE("explain: a traced number is what its double is") {
  pm::trace t;
  const double x = 3.4, y = 2.5;
  const auto a = pm::traced::input(t, x, "a"), b = pm::traced::input(t, y, "b");
  const std::pair<pm::traced, double> both[] = {{a + b, x + y},
                                                {a - b, x - y},
                                                {a * b, x * y},
                                                {a / b, x / y},
                                                {-a, -x},
                                                {scalar_min(a, b), y},
                                                {scalar_max(a, b), x},
                                                {ceil(a), 4.0},
                                                {floor(a), 3.0},
                                                {log(a), std::log(x)},
                                                {exp(a), std::exp(x)},
                                                {sqrt(a), std::sqrt(x)},
                                                {pow(a, b), std::pow(x, y)}};
  for (const auto& [traced, plain] : both) {
    CHECK(traced.value() == plain);
    CHECK(t[traced.node()].value == plain);
  }
}

TEST_CASE("explain: a formula reads as it was computed") {
  pm::trace t;
  const auto a = pm::traced::input(t, 6.0, "a");
  const auto b = pm::traced::input(t, 2.0, "b");
  const auto x = named("x", (a + b) * a / (b - 1.0));
  const auto y = named("y", scalar_max(x, scalar_max(a, pm::traced(3.0))) + 0.0);
  const auto d = pm::derivation_of(y);
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].formula == "(a + b) x a / (b - 1)");
  CHECK(d.steps[0].numbers == "(6 + 2) x 6 / (2 - 1)");
  CHECK(d.steps[0].value == "48");
  CHECK(d.steps[1].formula == "max(x, a, 3)");
  CHECK(d.steps[1].value == "48");
  CHECK(pm::derivation_of(pm::traced(1.0)).steps.empty());
}

TEST_CASE("explain: parentheses stand where they matter") {
  pm::trace t;
  const auto in = [&](const char* name, double x) { return pm::traced::input(t, x, name); };
  const auto a = in("a", 12), b = in("b", 3), c = in("c", 2);
  const auto formula = [](const pm::traced& x) {
    return pm::derivation_of(named("y", x)).steps.back().formula;
  };
  CHECK(formula(a / (b * c)) == "a / (b x c)");
  CHECK(formula(a / b * c) == "a / b x c");
  CHECK(formula(a - (b - c)) == "a - (b - c)");
  CHECK(formula(a - b - c) == "a - b - c");
  CHECK(formula((a + b) * (a - c)) == "(a + b) x (a - c)");
  CHECK(formula(-(a + b)) == "-(a + b)");
  CHECK(formula(scalar_min(scalar_min(a, b), scalar_max(b, c))) == "min(a, b, max(b, c))");
  CHECK(formula(pow(a, b) + sqrt(ceil(c / b))) == "pow(a, b) + sqrt(ceil(c / b))");
  CHECK(formula(exp(log(a)) - floor(b)) == "exp(ln(a)) - floor(b)");
}

TEST_CASE("explain: as text, inputs before steps, numbers where they tell more") {
  pm::trace t;
  const auto a = pm::traced::input(t, 6.0, "a", "a book"), b = pm::traced::input(t, 2.0, "b");
  const auto x = named("x", scalar_max(-a, a + b));
  const auto d = pm::derivation_of(named("y", x));
  CHECK(pm::to_string(d) ==
        "  a = 6   [a book]\n"
        "  b = 2\n"
        "  x = max(-a, a + b) = max(-6, 6 + 2) = 8\n"
        "  y = x = 8\n");
  CHECK(pm::to_string(d, false).ends_with("  x = max(-a, a + b) = 8\n  y = x = 8\n"));
  const auto z = pm::derivation_of(named("z", -(a + b)));
  CHECK(z.steps[0].numbers == "-(6 + 2)");
}

TEST_CASE("explain: what a reader would cross out is not there") {
  pm::trace t;
  const auto a = pm::traced::input(t, 12, "a");
  const pm::traced zero(0.0), one(1.0);
  const auto steps = [](const pm::traced& x) { return pm::derivation_of(x).steps; };
  for (const auto& same :
       {a + zero, zero + a, a - zero, a * one, one * a, a / one, scalar_min(a, a), scalar_max(a, a),
        scalar_max(a, zero), scalar_max(zero, a), a + (a - a), sqrt(a * a)}) {
    CHECK(same.value() == 12);
    CHECK(named("y", same).value() == 12);
    REQUIRE(steps(named("y", same)).size() == 1);
    CHECK(steps(named("y", same))[0].formula == "a");
  }
  CHECK((a * zero).value() == 0);
  CHECK((zero / a).value() == 0);
  CHECK(scalar_max(-a, zero).value() == 0);  // not crossed out: the constant is the larger
  CHECK(scalar_min(a, zero).value() == 0);
  CHECK((zero - a).value() == -12);
  // Nor is there a larger or a root where all is 0.
  const auto nought = pm::traced::input(t, 0, "nought");
  for (const auto& same :
       {scalar_max(nought, zero), scalar_max(zero, nought), sqrt(nought * nought)})
    CHECK(steps(named("y", same))[0].formula == "nought");
  // Another of the same value is no reason to cross anything out, nor is a square of what is
  // negative.
  const auto b = pm::traced::input(t, 12, "b");
  CHECK(steps(named("y", a - b))[0].formula == "a - b");
  CHECK(sqrt(-a * -a).value() == 12);
  CHECK(steps(named("y", sqrt(a * b)))[0].formula == "sqrt(a x b)");
}

TEST_CASE("explain: a constant in a sum has the unit of what it is added to") {
  pm::trace t;
  const pm::unit_exponents seconds = pm::exponents_of<pm::duration<>>();
  const auto time = pm::traced::input(t, 2e-3, "wait", {}, seconds);
  const auto n = pm::traced::input(t, 8.0, "n");
  const auto formula = [&](const pm::traced& x, pm::unit_exponents unit) {
    return pm::derivation_of(x.name_step("y", unit)).steps.back().formula;
  };
  CHECK(formula(n * time / (time + 1e-3), {}) == "n x wait / (wait + 1 ms)");
  CHECK(formula(pm::traced(1.3e-6) + n * time, seconds) == "1.3 us + n x wait");
  CHECK(formula(scalar_max(n * time, pm::traced(1e-3)), seconds) == "max(n x wait, 1 ms)");
  CHECK(formula((n - 1.0) * time, seconds) == "(n - 1) x wait");
  CHECK(formula((n * n + 1.0) * time, seconds) == "(n x n + 1) x wait");  // not known: as it is
}

namespace {
std::vector<std::string> names_of(const pm::derivation& d) {
  std::vector<std::string> all;
  for (const auto& x : d.steps) all.push_back(x.name);
  return all;
}
using names = std::vector<std::string>;
}  // namespace

TEST_CASE(
    "explain: a step named twice is one, and what goes into a step of its name has its value") {
  pm::trace t;
  const auto a = pm::traced::input(t, 2, "a");
  const auto first = named("x", a + 1.0);
  const auto second = named("x", first * a);
  const auto d = pm::derivation_of(named("x", second));
  CHECK(names_of(d) == names{"x at 3", "x"});
  CHECK(d.steps[1].symbol == "x");
  CHECK(d.steps[1].formula == "x at 3 x a");
  CHECK(d.steps[1].value == "6");
  CHECK(d.steps[0].uses.empty());
  CHECK(d.steps[1].uses == std::vector<std::size_t>{0});
}

TEST_CASE("explain: steps of one name are called after the one part that they belong to") {
  pm::trace t;
  const auto a = pm::traced::input(t, 2, "a"), b = pm::traced::input(t, 3, "b");
  const auto pass = [&](const char* name, const pm::traced& n) {
    const auto up = named("up", named("flop", n * a)), down = named("down", named("flop", n * b));
    return named(name, named("time", up + down));
  };
  const auto decode = pass("decode", pm::traced(5.0));
  // The second pass depends on the first, and is still told apart.
  const auto prefill = pass("prefill", decode + 1.0);
  CHECK(names_of(pm::derivation_of(named("all", decode + prefill))) ==
        names{"flop of up of decode", "up of decode", "flop of down of decode", "down of decode",
              "time of decode", "decode", "flop of up of prefill", "up of prefill",
              "flop of down of prefill", "down of prefill", "time of prefill", "prefill", "all"});
}

TEST_CASE("explain: what two parts compute of the same is one step, an input keeps its name") {
  pm::trace t;
  const auto a = pm::traced::input(t, 2, "a");
  const auto p = named("p", named("message", a * 4.0) + 1.0);
  const auto q = named("q", named("message", a * 4.0) + 2.0);
  const auto d = pm::derivation_of(named("a", p + q));
  CHECK(names_of(d) == names{"message", "p", "q", "a from p"});
  CHECK(d.inputs[0].name == "a");
  CHECK(d.steps[2].formula == "message + 2");
  CHECK(d.steps[3].uses == std::vector<std::size_t>{1, 2});
}

TEST_CASE("explain: in one part, steps of one name are called after what goes into them") {
  pm::trace t;
  const auto a = pm::traced::input(t, 2, "a"), b = pm::traced::input(t, 3, "b");
  CHECK(names_of(pm::derivation_of(named("y", named("x", a + 1.0) + named("x", b + 1.0)))) ==
        names{"x of y", "x from b", "y"});
  CHECK(names_of(pm::derivation_of(named("y", named("x", b + 1.0) + named("x", a + 1.0)))) ==
        names{"x of y", "x from a", "y"});
  // An equal value of the input, except for a digit that is not printed.
  const auto near =
      named("y", named("x", a + 1.0) + named("x", a + 1.0000001) + named("x", a + 1.0000002));
  CHECK(names_of(pm::derivation_of(near)) == names{"x of y", "x at 3'", "x at 3", "y"});
}

TEST_CASE("explain: a part that a law names is in the name") {
  pm::trace t;
  const auto a = pm::traced::input(t, 2, "a");
  const char* const none = nullptr;
  CHECK(names_of(pm::derivation_of(named("x", "prefill", a + 1.0))) == names{"x of prefill"});
  CHECK(names_of(pm::derivation_of(named("x", none, a + 1.0))) == names{"x"});
  CHECK(pm::named("x", "prefill", 3.0) == 3.0);
}

TEST_CASE("explain: a shared step is written once, before what needs it") {
  pm::trace t;
  const auto a = pm::traced::input(t, 2, "a");
  const auto s = named("s", a * a);
  const auto y = named("y", s + s * s);
  const auto d = pm::derivation_of(y);
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].name == "s");
  CHECK(d.inputs.size() == 1);
  CHECK(pm::derivation_of(pm::traced(3.0)).inputs.empty());
  // An input alone, the first of its trace, is its own derivation.
  REQUIRE(pm::derivation_of(a).inputs.size() == 1);
  CHECK(pm::derivation_of(a).inputs[0].name == "a");
}

TEST_CASE("explain: a formula that is too long for one line is written in parts") {
  pm::trace t;
  pm::traced sum{0.0};
  for (int i = 1; i <= 64; ++i) {
    sum = sum + pm::traced::input(t, i / 64.0, "x" + std::to_string(i));
  }
  pm::traced y = sum / pm::traced(64.0);
  // Each round uses y twice: written out, the last would have 64 x 2^20 operands.
  for (int round = 0; round < 20; ++round) y = y * y + pm::traced(0.25);
  const auto d = pm::derivation_of(named("y", y));
  REQUIRE(d.steps.size() > 1);
  // By hand: the mean of 1/64 to 64/64 is 65/128; then y <- y^2 + 1/4, twenty times.
  double expected = 65.0 / 128;
  for (int round = 0; round < 20; ++round) expected = expected * expected + 0.25;
  CHECK(d.steps.back().name == "y");
  CHECK(d.steps.back().value == pm::detail::significant(expected, 4));
  std::set<std::string> names;
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    const auto& s = d.steps[i];
    INFO(s.name << " = " << s.formula);
    CHECK(names.insert(s.name).second);
    CHECK(std::count_if(s.formula.begin(), s.formula.end(),
                        [](char c) { return c == '+' || c == 'x' || c == '/'; }) < 100);
    for (const std::size_t j : s.uses) {
      CHECK(j < i);
      CHECK(s.formula.find(d.steps[j].name) != std::string::npos);
    }
    if (s.symbol == "part") CHECK(s.name.starts_with("part "));
  }
}

}  // namespace unit_explain
