// Accelerators of the catalogue by the names that people, drivers and shops use.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/hardware/catalog/product_names.hpp>
#include <string_view>

namespace perfmodel::inline v0_3::catalog {

namespace naming {

/// Letters in lower case, of a name that is cut where it is too long for any product.
class short_text {
 public:
  constexpr void add(char c) {
    if (size_ < text_.size()) text_[size_++] = c;
  }
  constexpr void add(std::string_view s) {
    for (const char c : s) add(c);
  }
  constexpr std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 64> text_{};
  std::size_t size_ = 0;
};

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr std::size_t digits_of(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size() && is_digit(s[n])) ++n;
  return n;
}
constexpr int number_of(std::string_view digits) {
  int n = 0;
  for (const char c : digits.substr(0, 6)) n = 10 * n + (c - '0');
  return n;
}
constexpr std::string_view letters_of(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size() && !is_digit(s[n])) ++n;
  return s.substr(0, n);
}

/// Makers, families and what else a product's name has around what tells it from others.
constexpr bool says_nothing(std::string_view word) {
  for (const std::string_view w :
       {"nvidia",    "amd",     "intel",    "google",      "aws",     "amazon",     "apple",
        "tesla",     "geforce", "instinct", "radeon",      "habana",  "jetson",     "hgx",
        "dgx",       "gpu",     "gpus",     "accelerator", "card",    "tensor",     "core",
        "superchip", "grace",   "hopper",   "blackwell",   "edition", "generation", "oam",
        "module",    "memory",  "cloud",    "chip",        "hbm",     "hbm2",       "hbm2e",
        "hbm3",      "hbm3e",   "hbm4",     "gddr6",       "gddr6x",  "gddr7",      "gb",
        "gib",       "huawei",  "qualcomm", "microsoft"}) {
    if (word == w) return true;
  }
  return false;
}

/// sxm, pcie, nvl, nvl72, server and so on, without the version of the socket; else empty.
constexpr std::string_view form_of(std::string_view word) {
  for (const std::string_view f : {"sxm", "pcie", "server", "workstation", "maxq"}) {
    if (word.starts_with(f) && digits_of(word.substr(f.size())) == word.size() - f.size()) return f;
  }
  const bool nvl = word.starts_with("nvl") && digits_of(word.substr(3)) == word.size() - 3;
  return nvl ? word : std::string_view();
}

/// A name taken apart.
struct spoken_name {
  short_text product{};
  short_text form{};
  int gigabytes = 0;

  constexpr void take(std::string_view word, std::string_view next) {
    const std::size_t digits = digits_of(word);
    const std::string_view unit = word.substr(digits);
    if (digits > 0 && (unit == "gb" || unit == "g" || unit == "gib" ||
                       (unit.empty() && (next == "gb" || next == "gib")))) {
      gigabytes = number_of(word.substr(0, digits));
      return;
    }
    if (says_nothing(word)) return;
    std::string_view f = form_of(word);
    if (f.empty()) {  // h100sxm5
      for (std::size_t i = 1; i + 2 < word.size() && f.empty(); ++i) {
        if (is_digit(word[i - 1])) f = form_of(word.substr(i));
        if (!f.empty()) product.add(word.substr(0, i));
      }
      if (f.empty()) product.add(word);
    }
    const bool more_exact = form.view().empty() || form.view() == "pcie" || f == "maxq";
    if (!f.empty() && more_exact) {
      form = {};
      form.add(f);
    }
  }
};

/// A word and what follows it; '-', ' ', '_' and whatever is no letter or digit separate words.
constexpr std::string_view next_word(std::string_view& rest) {
  const auto in_word = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); };
  while (!rest.empty() && !in_word(rest.front())) rest.remove_prefix(1);
  std::size_t n = 0;
  while (n < rest.size() && in_word(rest[n])) ++n;
  const std::string_view word = rest.substr(0, n);
  rest.remove_prefix(n);
  return word;
}

constexpr spoken_name parsed_name(std::string_view name) {
  short_text text;
  for (const char c : name) text.add(lower(c));
  spoken_name said;
  std::string_view rest = text.view();
  std::string_view word = next_word(rest);
  while (!word.empty()) {
    std::string_view next = next_word(rest);
    if (word == "max" && next == "q") {
      word = "maxq";
      next = next_word(rest);
    }
    said.take(word, next);
    word = next;
  }
  return said;
}

}  // namespace naming

/// Catalogue key of an accelerator's name. Case, '-', ' ' and '_' do not matter; the maker is
/// optional; form and memory size decide where they are given. Empty for an unknown name: a
/// cut-down, laptop or partitioned variant is another product.
/// Test: "NVIDIA H100 80GB HBM3" is h100_sxm, "A100-PCIE-40GB" a100_pcie_40gb, "RTX 4090 D"
/// nothing.
constexpr std::string_view accelerator_key(std::string_view name) {
  const naming::spoken_name said = naming::parsed_name(name);
  for (const product_name& p : product_names) {
    const bool form = said.form.view().empty() || said.form.view() == p.form;
    const bool size = said.gigabytes == 0 || p.gigabytes == 0 || said.gigabytes == p.gigabytes;
    if (p.product == said.product.view() && form && size) return p.key;
  }
  return {};
}

namespace naming {

/// Distance of two names of one series (equal letters, as many digits), by their numbers.
constexpr int distance(std::string_view a, std::string_view b) {
  constexpr int none = 1 << 30;
  if (a == b) return 0;
  const std::string_view series = letters_of(a);
  if (series != letters_of(b)) return none;
  const std::string_view x = a.substr(series.size()), y = b.substr(series.size());
  const std::string_view n = x.substr(0, digits_of(x)), m = y.substr(0, digits_of(y));
  if (!n.empty() && n.size() != m.size()) return none;
  const int difference = number_of(n) - number_of(m);
  return 1 + (difference < 0 ? -difference : difference);
}

}  // namespace naming

/// Keys of up to three relatives of an unknown name: other forms of the product, else the nearest
/// of its series, never a name that merely looks alike. Empty keys where there are fewer.
/// Test: "RTX 4060" has rtx_4070 first, "A10G" a10, "M1 Max" no Instinct.
constexpr std::array<std::string_view, 3> related_accelerators(std::string_view name) {
  std::array<std::string_view, 3> found{};
  const naming::spoken_name said = naming::parsed_name(name);
  const std::string_view product = said.product.view();
  if (product.empty()) return found;
  for (const absent_product& p : absent_products) {
    if (p.product == product) return {p.relative};
  }
  for (std::string_view& slot : found) {
    int least = 1 << 30;
    for (const product_name& p : product_names) {
      bool known = false;
      for (const std::string_view f : found) known = known || f == p.key;
      const int d = naming::distance(product, p.product);
      if (!known && d < least) {
        least = d;
        slot = p.key;
      }
    }
    if (slot.empty()) break;
  }
  return found;
}

}  // namespace perfmodel::inline v0_3::catalog
