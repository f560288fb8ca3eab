// Accelerators of the catalogue by the names that people, drivers and shops use.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

// Short names of the catalogue's products, and relatives of products that it lacks.

namespace perfmodel::inline v0_3::catalog {

/// Spelling of an accelerator: the product's name without its maker, form and memory size, in lower
/// case and without spaces. A bare name means the first row of its product.
struct product_name {
  std::string_view product;
  std::string_view form;
  int gigabytes;  ///< 0: any
  std::string_view key;
};

// clang-format off
inline constexpr product_name product_names[] = {
    {"v100", "sxm", 32, "v100_sxm_32gb"},
    {"t4", "pcie", 16, "t4"},
    {"a100", "sxm", 80, "a100_sxm_80gb"}, {"a100", "sxm", 40, "a100_sxm_40gb"},
    {"a100", "pcie", 80, "a100_pcie_80gb"}, {"a100", "pcie", 40, "a100_pcie_40gb"},
    {"a10", "pcie", 24, "a10"},
    {"a40", "pcie", 48, "a40"},
    {"rtxa6000", "pcie", 48, "rtx_a6000"}, {"a6000", "pcie", 48, "rtx_a6000"},
    {"a800", "sxm", 80, "a800_sxm_80gb"},
    {"rtx3080", "pcie", 10, "rtx_3080"}, {"3080", "pcie", 10, "rtx_3080"},
    {"rtx3090", "pcie", 24, "rtx_3090"}, {"3090", "pcie", 24, "rtx_3090"},
    {"h100", "sxm", 80, "h100_sxm"}, {"h100", "pcie", 80, "h100_pcie"},
    {"h100", "nvl", 94, "h100_nvl"},
    {"h200", "sxm", 141, "h200_sxm"}, {"h200", "nvl", 141, "h200_nvl"},
    {"h20", "sxm", 96, "h20"}, {"h20", "sxm", 141, "h20_141gb"}, {"h203e", "sxm", 141, "h20_141gb"},
    {"h800", "sxm", 80, "h800_sxm"},
    {"gh200", "", 96, "gh200_96gb"},
    {"gh200", "", 480, "gh200_96gb"},  // the driver names it by the memory of its CPU
    {"gh200", "", 120, "gh200_96gb"}, {"gh200", "", 144, "gh200_144gb"},
    {"b100", "sxm", 192, "b100_sxm"},
    {"b200", "sxm", 180, "b200_sxm"}, {"b200", "sxm", 192, "b200_sxm"},
    {"b300", "sxm", 288, "b300_sxm"}, {"b300", "sxm", 270, "b300_sxm"},
    {"gb200", "nvl72", 186, "gb200"}, {"gb200", "nvl72", 192, "gb200"},
    {"gb300", "nvl72", 288, "gb300"}, {"gb300", "nvl72", 279, "gb300"},
    {"l4", "pcie", 24, "l4"},
    {"l40s", "pcie", 48, "l40s"},
    {"l20", "pcie", 48, "l20"},
    {"rtx6000ada", "pcie", 48, "rtx_6000_ada"}, {"6000ada", "pcie", 48, "rtx_6000_ada"},
    {"rtx4070", "pcie", 12, "rtx_4070"}, {"4070", "pcie", 12, "rtx_4070"},
    {"rtx4080", "pcie", 16, "rtx_4080"}, {"4080", "pcie", 16, "rtx_4080"},
    {"rtx5070", "pcie", 12, "rtx_5070"}, {"5070", "pcie", 12, "rtx_5070"},
    {"rtx5070ti", "pcie", 16, "rtx_5070_ti"}, {"5070ti", "pcie", 16, "rtx_5070_ti"},
    {"rtxpro4500", "pcie", 32, "rtx_pro_4500"},
    {"rtxpro5000", "pcie", 48, "rtx_pro_5000"}, {"rtxpro5000", "pcie", 72, "rtx_pro_5000_72gb"},
    {"rtx4090", "pcie", 24, "rtx_4090"}, {"4090", "pcie", 24, "rtx_4090"},
    {"rtx5080", "pcie", 16, "rtx_5080"}, {"5080", "pcie", 16, "rtx_5080"},
    {"rtx5090", "pcie", 32, "rtx_5090"}, {"5090", "pcie", 32, "rtx_5090"},
    {"rtxpro6000", "server", 96, "rtx_pro_6000"},
    {"rtxpro6000", "workstation", 96, "rtx_pro_6000_workstation"},
    {"rtxpro6000", "maxq", 96, "rtx_pro_6000_max_q"},
    {"rtx6000pro", "server", 96, "rtx_pro_6000"},
    {"rtx6000pro", "workstation", 96, "rtx_pro_6000_workstation"},
    {"rtx6000pro", "maxq", 96, "rtx_pro_6000_max_q"},
    {"gb10", "", 128, "gb10"}, {"spark", "", 128, "gb10"},
    {"mi210", "pcie", 64, "mi210"},
    {"mi250x", "", 64, "mi250x"}, {"mi250x", "", 128, "mi250x"},
    {"mi300x", "", 192, "mi300x"},
    {"mi308x", "", 192, "mi308x"},
    {"mi455x", "", 432, "mi455x"},
    {"rx7900xtx", "", 24, "rx_7900_xtx"}, {"7900xtx", "", 24, "rx_7900_xtx"},
    {"rx9070xt", "", 16, "rx_9070_xt"}, {"9070xt", "", 16, "rx_9070_xt"},
    {"aipror9700", "", 32, "radeon_ai_pro_r9700"}, {"r9700", "", 32, "radeon_ai_pro_r9700"},
    {"strixhalo", "", 128, "ryzen_ai_max_395"}, {"ryzenaimax395", "", 128, "ryzen_ai_max_395"},
    {"arcprob60", "", 24, "arc_pro_b60"}, {"b60", "", 24, "arc_pro_b60"},
    {"arcprob70", "", 32, "arc_pro_b70"}, {"b70", "", 32, "arc_pro_b70"},
    {"ascend910b", "", 64, "ascend_910b"}, {"910b", "", 64, "ascend_910b"},
    {"ascend910c", "", 128, "ascend_910c"}, {"910c", "", 128, "ascend_910c"},
    {"ascend950dt", "", 96, "ascend_950dt"}, {"950dt", "", 96, "ascend_950dt"},
    {"ai100ultra", "", 128, "cloud_ai_100_ultra"},
    {"maia200", "", 216, "maia_200"},
    {"mi325x", "", 256, "mi325x"},
    {"mi350p", "pcie", 144, "mi350p"},
    {"mi350x", "", 288, "mi350x"},
    {"mi355x", "", 288, "mi355x"},
    {"tpuv5e", "", 16, "tpu_v5e"}, {"v5e", "", 16, "tpu_v5e"}, {"tpuv5lite", "", 16, "tpu_v5e"},
    {"v5litepod", "", 16, "tpu_v5e"},
    {"tpuv5p", "", 95, "tpu_v5p"}, {"v5p", "", 95, "tpu_v5p"},
    {"tpuv6e", "", 32, "tpu_v6e"}, {"v6e", "", 32, "tpu_v6e"}, {"tpuv6", "", 32, "tpu_v6e"},
    {"trillium", "", 32, "tpu_v6e"},
    {"tpu7x", "", 192, "tpu7x"}, {"tpuv7x", "", 192, "tpu7x"}, {"tpuv7", "", 192, "tpu7x"},
    {"tpu7", "", 192, "tpu7x"}, {"ironwood", "", 192, "tpu7x"},
    {"trainium2", "", 96, "trainium2"}, {"trn2", "", 96, "trainium2"},
    {"trainium3", "", 144, "trainium3"}, {"trn3", "", 144, "trainium3"},
    {"gaudi3", "", 128, "gaudi_3"},
    {"m2ultra", "", 192, "m2_ultra"},
    {"m3ultra", "", 512, "m3_ultra"},
    {"m4pro", "", 64, "m4_pro"},
    {"m4max", "", 128, "m4_max"}, {"m4max", "", 36, "m4_max_32core"},
    {"m4max40core", "", 128, "m4_max"},
    {"m4max32core", "", 36, "m4_max_32core"},
    {"orinnano", "", 8, "jetson_orin_nano_8gb"},
    {"orinnx", "", 16, "jetson_orin_nx_16gb"},
    {"agxorin", "", 64, "jetson_agx_orin_64gb"}, {"orinagx", "", 64, "jetson_agx_orin_64gb"},
    {"thor", "", 128, "jetson_thor"}, {"agxthor", "", 128, "jetson_thor"},
    {"groq", "", 0, "groq_lpu"}, {"groqlpu", "", 0, "groq_lpu"}, {"lpu", "", 0, "groq_lpu"},
    {"cerebras", "", 0, "cerebras_wse3"}, {"cerebraswse3", "", 0, "cerebras_wse3"},
    {"wse3", "", 0, "cerebras_wse3"}, {"cerebrascs3", "", 0, "cerebras_wse3"},
    {"cs3", "", 0, "cerebras_wse3"},
    {"verarubin", "nvl72", 288, "vera_rubin_nvl72"},
    {"verarubin", "nvl144", 288, "vera_rubin_nvl72"},  // as first announced
    {"rubin", "nvl72", 288, "vera_rubin_nvl72"}, {"vr200", "nvl72", 288, "vera_rubin_nvl72"},
    {"rubincpx", "", 128, "rubin_cpx"},
    {"rubinultra", "nvl576", 0, "rubin_ultra_nvl576"},
    {"rubinultra", "nvl144", 0, "rubin_ultra_nvl576"},
};

/// Products outside the catalogue with a misleading name, and their nearest relative in it.
struct absent_product {
  std::string_view product, relative;
};
inline constexpr std::array absent_products{
    absent_product{"p100", "v100_sxm_32gb"}, absent_product{"titanv", "v100_sxm_32gb"},
    absent_product{"rtx2080ti", "t4"},
    absent_product{"a30", "a100_pcie_40gb"}, absent_product{"a10g", "a10"},
    absent_product{"a16", "a10"},            absent_product{"a2", "a10"},
    absent_product{"rtxa5000", "rtx_a6000"}, absent_product{"a5000", "rtx_a6000"},
    absent_product{"l40", "l40s"},           absent_product{"rtx6000", "rtx_6000_ada"},
    absent_product{"l2", "l4"},              absent_product{"mi250", "mi250x"},
    absent_product{"mi300a", "mi300x"},
    absent_product{"inferentia2", "trainium2"}, absent_product{"inf2", "trainium2"},
    absent_product{"m1ultra", "m2_ultra"},   absent_product{"m3max", "m4_max"},
};
// clang-format on

}  // namespace perfmodel::inline v0_3::catalog

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

/// Whether a character is a decimal digit, without the locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// An ASCII letter in lower case.
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
/// Number of leading digits.
constexpr std::size_t digits_of(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size() && is_digit(s[n])) ++n;
  return n;
}
/// Value of at most six leading digits.
constexpr int number_of(std::string_view digits) {
  int n = 0;
  for (const char c : digits.substr(0, 6)) n = 10 * n + (c - '0');
  return n;
}
/// Leading characters before the first digit.
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

/// Parts of a product's name: product, form factor, and memory in GB where it is stated.
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
