// Reads a program's GPU machine code (SASS) as far as counting needs it: the instructions, their
// registers and the loops of every kernel. NVIDIA documents no encoding. known.cu verifies what is
// used here for each architecture: compute capability 8.0 and up, with instructions of 16 bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace perfmodel::validation {

/// The low nine bits of an instruction; three more say where its operands are.
enum class opcode : unsigned {
  cs2r = 0x005,
  fadd = 0x021,
  ffma = 0x023,
  dfma = 0x02b,
  hmma = 0x03c,
  qmma = 0x07a,
  branch = 0x147,
  exit = 0x14d,
  ldg = 0x181,
  ldgsts = 0x1ae,
  ldl = 0x183,
  lds = 0x184,
  stg = 0x186,
  stl = 0x187,
  nop = 0x118,
  hgmma = 0x1f0,
  qgmma = 0x1f3,
};

struct instruction {
  std::uint64_t low = 0, high = 0;

  opcode is() const { return static_cast<opcode>(low & 0x1FFU); }
  unsigned destination() const { return low >> 16U & 0xFFU; }
  unsigned special_register() const { return high >> 8U & 0xFFU; }  ///< register of a CS2R
  unsigned address() const { return low >> 24U & 0xFFU; }           ///< address register of a load
  /// Bytes of a load or store.
  unsigned bytes() const {
    constexpr unsigned of_code[] = {1, 1, 2, 2, 4, 8, 16, 16};
    return of_code[high >> 9U & 7U];
  }
};

struct kernel_code {
  std::string name;      ///< mangled name
  int architecture = 0;  ///< 90 for compute capability 9.0
  std::vector<instruction> code;

  std::size_t count(opcode op) const { return count(op, {0, code.size()}); }

  /// From the target of a backward branch to the branch, without what is behind it.
  struct span {
    std::size_t begin, end;
  };
  std::size_t count(opcode op, span in) const {
    const auto at = [&](std::size_t i) { return code.begin() + static_cast<std::ptrdiff_t>(i); };
    return static_cast<std::size_t>(std::count_if(
        at(in.begin), at(in.end), [op](const instruction& i) { return i.is() == op; }));
  }
  std::vector<span> loops() const {
    std::vector<span> out;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].is() != opcode::branch) continue;
      const std::int64_t target = static_cast<std::int64_t>(i) + 1 + step_of(code[i]);
      if (target >= 0 && target < static_cast<std::int64_t>(i)) {
        out.push_back({static_cast<std::size_t>(target), i + 1});
      }
    }
    return out;
  }
  /// The loop with most of `op`, and of those the shortest; all of the code where none has any.
  span hot_loop(opcode op) const {
    span best{0, code.size()};
    std::size_t most = 0;
    for (const span& l : loops()) {
      const std::size_t n = count(op, l);
      if (n > most || (n == most && n > 0 && l.end - l.begin < best.end - best.begin)) {
        best = l;
        most = n;
      }
    }
    return best;
  }

 private:
  /// In instructions, from the one that follows a branch.
  std::int64_t step_of(const instruction& i) const {
    // Units of four bytes: bits 34 to 81, and from sm_90 on another eight below them, at 16 to 23.
    std::int64_t four =
        static_cast<std::int64_t>((i.low >> 34U | i.high << 30U) << 16U) / 65536;  // of 48 bits
    if (architecture >= 90) four = four * 256 + static_cast<std::int64_t>(i.low >> 16U & 0xFFU);
    return four / 4;
  }
};

namespace detail {

template <class T>
T read_at(std::string_view image, std::size_t at) {
  T v{};
  if (at <= image.size() && sizeof(T) <= image.size() - at) {
    std::memcpy(&v, image.data() + at, sizeof(T));
  }
  return v;
}

/// The kernels of one ELF image: its sections .text.<kernel>.
inline void read_image(std::string_view image, std::vector<kernel_code>& out) {
  const auto flags = read_at<std::uint32_t>(image, 48);
  const bool newer = read_at<std::uint8_t>(image, 8) >= 8;  // the version of the ABI
  const auto sections = read_at<std::uint64_t>(image, 40);
  const auto count = read_at<std::uint16_t>(image, 60), names = read_at<std::uint16_t>(image, 62);
  const auto section = [&](std::size_t i) { return sections + 64 * i; };
  const auto name_table = read_at<std::uint64_t>(image, section(names) + 24);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = name_table + read_at<std::uint32_t>(image, section(i));
    if (at >= image.size()) continue;
    const std::string_view name = image.substr(at, image.find('\0', at) - at);
    if (name.substr(0, 6) != ".text.") continue;
    kernel_code k{std::string(name.substr(6)),
                  static_cast<int>(newer ? flags >> 8U & 0xFFU : flags & 0xFFU),
                  {}};
    const auto begin = read_at<std::uint64_t>(image, section(i) + 24);
    const auto bytes = read_at<std::uint64_t>(image, section(i) + 32);
    for (std::uint64_t b = 0; b + 16 <= bytes; b += 16) {
      k.code.push_back(
          {read_at<std::uint64_t>(image, begin + b), read_at<std::uint64_t>(image, begin + b + 8)});
    }
    out.push_back(std::move(k));
  }
}

}  // namespace detail

/// Every kernel in a file that holds device code uncompressed (nvcc --no-compress): a cubin, or a
/// program, once for each architecture that it was built for. Errors: none; what is not device code
/// is skipped.
inline std::vector<kernel_code> kernels_of(std::string_view file) {
  using namespace std::string_view_literals;
  constexpr std::string_view magic =
      "\x7F"
      "ELF\x02\x01\x01"sv;
  constexpr std::uint16_t cuda = 190;
  std::vector<kernel_code> out;
  for (std::size_t at = file.find(magic); at != std::string_view::npos;
       at = file.find(magic, at + 1)) {
    const std::string_view image = file.substr(at);
    if (detail::read_at<std::uint16_t>(image, 18) == cuda) detail::read_image(image, out);
  }
  return out;
}

}  // namespace perfmodel::validation
