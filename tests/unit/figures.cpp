// Figures: ticks, text plots, escaping, labels that do not overlap, and figures of tables.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <napkin/io/figure.hpp>
#include <napkin/io/figure_axis.hpp>
#include <napkin/io/figure_text.hpp>

using namespace common;

namespace unit_figures {

namespace {

std::vector<std::string> all_of(const std::string& text, const char* pattern) {
  const std::regex r(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), r), end; i != end; ++i)
    found.push_back((*i)[1]);
  return found;
}

}  // namespace

TEST_CASE("ticks are 1, 2 or 5 times a power of ten") {
  CHECK(ticks_of(0.0, 10.0, false, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(ticks_of(0.0, 0.9, false, 5) ==
        std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(ticks_of(3.0, 3.0, false, 5).empty());
}

TEST_CASE("ticks of a logarithmic axis are decades, with 2 and 5 where they are few") {
  const auto few = ticks_of(1.0, 100.0, true, 8);
  REQUIRE(few.size() == 7);
  for (std::size_t i = 0; i < few.size(); ++i) {
    const double expected[] = {1, 2, 5, 10, 20, 50, 100};
    CHECK(std::fabs(few[i] / expected[i] - 1.0) < 1e-12);
  }
  const auto many = ticks_of(1e-6, 1e6, true, 6);
  REQUIRE(many.size() == 7);  // every second decade
  CHECK(std::fabs(many[1] / 1e-4 - 1.0) < 1e-12);
  CHECK(ticks_of(2.1, 4.9, true, 5) == std::vector<double>{3, 4});  // within a decade
}

TEST_CASE("values have the prefix of their unit") {
  CHECK(amount_text(0.0198, "s") == "19.8 ms");
  CHECK(amount_text(443.35e12, "FLOP/s") == "443 TFLOP/s");
  CHECK(amount_text(2684354560.0, "B") == "2.68 GB");
  CHECK(amount_text(0.448, "%") == "44.8 %");
  CHECK(amount_text(295.3, "FLOP/B") == "295 FLOP/B");
}

TEST_CASE("a line of two points is drawn in the corners") {
  figure f{.title = "tiny"};
  f.panels = {
      {.x = {.label = "x", .low = 0.0, .high = 10.0},
       .y = {.label = "y", .low = 0.0, .high = 10.0},
       .series = {{.label = "points", .x = {0, 10}, .y = {0, 10}, .style = plot_style::points}}}};
  const std::string text = text_of(f, 50);
  const std::string plot =
      "tiny\n"
      "\n"
      " y\n"
      "        10|                              o\n"
      "          |\n"
      "          |\n"
      "         8|\n"
      "          |\n"
      "          |\n"
      "         6|\n"
      "          |\n"
      "          |\n"
      "         4|\n"
      "          |\n"
      "          |\n"
      "         2|\n"
      "          |\n"
      "          |\n"
      "         0|o\n"
      "          +-------------------------------\n"
      "           0     2     4     6     8    10\n"
      "                          x\n"
      "  o points\n";
  CHECK(text == plot);
}

TEST_CASE("a waterfall in characters begins where the row before ends") {
  figure f;
  f.panels = {{.bars = {{.row = "a", .from = 0, .to = 1, .text = "1 s"},
                        {.row = "b", .from = 1, .to = 2, .text = "1 s"}}}};
  // 60 columns: 1 for the name, 3 for the value, 6 between: 50 of time, 25 each.
  CHECK(text_of(f, 60) == "\n  a |" + std::string(25, '#') + std::string(25, ' ') + " 1 s\n  b |" +
                              std::string(25, ' ') + std::string(25, '#') + " 1 s\n");
}

TEST_CASE("text plots stay within the columns of a terminal") {
  figure f{.title = std::string(300, 'w'), .subtitle = std::string(300, 's')};
  plot_panel p{.title = std::string(200, 't'),
               .x = {.label = std::string(200, 'l'), .is_log = true}};
  p.series = {{.label = std::string(200, 'n'), .x = {1e-9, 1e9}, .y = {-1e30, 1e30}}};
  f.panels = {p};
  std::size_t begin = 0;
  const std::string text = text_of(f);
  for (std::size_t end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    CHECK(length_of(text.substr(begin, end - begin)) <= 100);
}

TEST_CASE("marks carry their values, and markup is escaped") {
  figure f{.title = "a < b & \"c\"\n"};
  f.panels = {{.series = {{.label = "<&>",
                           .x = {1.5},
                           .y = {2.25},
                           .style = plot_style::points,
                           .labels = {"x < y"}}}}};
  const std::string svg = svg_of(f);
  CHECK(svg.find("data-x=\"1.5\" data-y=\"2.25\"") != svg.npos);
  CHECK(svg.find("a &lt; b &amp; &quot;c&quot;") != svg.npos);
  CHECK(svg.find("x &lt; y") != svg.npos);
  CHECK(svg.find("data-series=\"&lt;&amp;&gt;\"") != svg.npos);
}

TEST_CASE("figures without a range are finite") {
  for (const bool is_log : {false, true}) {
    for (const double v : {0.0, 1.0, 1e-30, 1e30}) {
      figure f;
      f.panels = {{.x = {.is_log = is_log},
                   .y = {.is_log = is_log},
                   .series = {{.x = {v}, .y = {v}}, {.x = {HUGE_VAL}, .y = {NAN}}}}};
      for (const std::string& s : {svg_of(f), text_of(f)}) {
        CHECK(s.find("nan") == s.npos);
        CHECK(s.find("inf") == s.npos);
      }
    }
  }
}

TEST_CASE("labels of points that crowd do not overlap") {
  figure f;
  plot_panel p;
  plot_series s{.style = plot_style::points};
  for (int i = 0; i < 12; ++i) {
    s.x.push_back(1.0 + 0.001 * i);
    s.y.push_back(1.0 + 0.001 * i);
    s.labels.push_back("operator " + std::to_string(i));
  }
  s.x.push_back(2.0);
  s.y.push_back(2.0);
  p.series = {s};
  f.panels = {p};
  const std::string svg = svg_of(f);
  const auto xs = all_of(svg, "<text x=\"([0-9.]+)\" y=\"[0-9.]+\">operator");
  const auto ys = all_of(svg, "<text x=\"[0-9.]+\" y=\"([0-9.]+)\">operator");
  REQUIRE(xs.size() >= 8);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const bool beside =
          std::fabs(std::stod(xs[i]) - std::stod(xs[k])) > text_width("operator 1", 11.9);
      const bool below = std::fabs(std::stod(ys[i]) - std::stod(ys[k])) >= 11.9;
      CHECK((beside || below));
    }
  }
}

TEST_CASE("a wrapped title loses no word") {
  std::string all;
  for (const std::string& line : wrapped_to("one two three four", 60.0, 12.0)) {
    CHECK(text_width(line, 12.0) <= 60.0);
    all += line + " ";
  }
  CHECK(all == "one two three four ");
}

TEST_CASE("a table becomes a line per value of its group") {
  const plot_table t{{"batch", "context", "time_s"},
                     {{"1", "1024", "0.01"},
                      {"8", "1024", "0.02"},
                      {"64", "1024", ""},
                      {"1", "8192", "0.03"},
                      {"8", "8192", "0.04"},
                      {"64", "8192", "0.05"}}};
  const figure f = of_table(t, "batch", {"time_s"}, "context");
  REQUIRE(f.panels.size() == 1);
  const plot_panel& p = f.panels[0];
  REQUIRE(p.series.size() == 2);
  CHECK(p.series[0].label == "1024");
  CHECK(p.series[1].label == "8192");
  CHECK(p.series[1].x == std::vector<double>{1, 8, 64});
  CHECK(p.series[1].y == std::vector<double>{0.03, 0.04, 0.05});
  CHECK(std::isnan(p.series[0].y[2]));  // infeasible: a gap
  CHECK(p.x.is_log);
  CHECK(p.y.unit == "s");
  CHECK_THROWS_AS(of_table(t, "batch", {"itl_s"}), std::invalid_argument);
}

TEST_CASE("words on the x axis are numbered and named") {
  const plot_table t{{"engine", "time_s"}, {{"vllm", "1"}, {"sglang", "2"}}};
  const figure f = of_table(t, "engine", {"time_s"});
  CHECK(f.panels[0].series[0].x == std::vector<double>{1, 2});
  CHECK(f.panels[0].x.label == "engine: 1 vllm, 2 sglang");
}

TEST_CASE("an engine, a format and a limiter have one colour") {
  CHECK(colour_of("vllm") == "#0072b2");
  CHECK(colour_of("compute") == colour_of("compute"));
  CHECK(colour_of("no such word").empty());
}

}  // namespace unit_figures
