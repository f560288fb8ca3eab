// What may be asked of a kernel's machine code.
#pragma once

#include <functional>

#include "machine_code.hpp"

namespace perfmodel::validation {

using condition = std::function<bool(const kernel_code&)>;

/// The hot loop holds `n` of `op`, and at most `others` instructions besides; the padding of some
/// architectures aside.
inline condition loop_of(opcode op, std::size_t n, std::size_t others = 1000) {
  return [=](const kernel_code& k) {
    const auto loop = k.hot_loop(op);
    const std::size_t size = loop.end - loop.begin - k.count(opcode::nop, loop);
    return k.count(op, loop) == n && size <= n + others;
  };
}

/// Four wgmma for each four counted, on sm_90a: one iteration of the loop, or several.
inline condition warp_group_loop(opcode op) {
  return [=](const kernel_code& k) {
    const std::size_t n = k.count(op, k.hot_loop(op));
    return n == 0 ? k.code.size() < 64 : n % 4 == 0 && loop_of(op, n, 4 * n)(k);
  };
}

/// The hot loop has `n` loads of `bytes` each, all of them ahead of the first `use`.
inline condition loads_ahead(std::size_t n, unsigned bytes, opcode use) {
  return [=](const kernel_code& k) {
    const auto loop = k.hot_loop(opcode::ldg);
    std::size_t loads = 0;
    bool used = false;
    for (std::size_t i = loop.begin; i < loop.end; ++i) {
      used = used || k.code[i].is() == use;
      if (k.code[i].is() != opcode::ldg) continue;
      if (used || k.code[i].bytes() != bytes) return false;
      ++loads;
    }
    return loads == n && used;
  };
}

/// The hot loop issues its `n` cp.async loads, for a later iteration, before its first `use`.
inline condition copies_ahead(std::size_t n, opcode use) {
  return [=](const kernel_code& k) {
    const auto loop = k.hot_loop(use);
    std::size_t i = loop.begin;
    while (i < loop.end && k.code[i].is() != use) ++i;
    return k.count(opcode::ldgsts, {loop.begin, i}) == n && k.count(opcode::ldgsts, loop) == n;
  };
}

/// Every load of the hot loop but the first takes its address from the one before, as it came.
inline condition chased(std::size_t n) {
  return [=](const kernel_code& k) {
    const auto loop = k.hot_loop(opcode::ldg);
    std::size_t loads = 0;
    unsigned last = 0;
    for (std::size_t i = loop.begin; i < loop.end; ++i) {
      if (k.code[i].is() != opcode::ldg) continue;
      if (loads > 0 && k.code[i].address() != last) return false;
      last = k.code[i].destination();
      ++loads;
    }
    return loads == n;
  };
}

/// The hot loop has one load, and its value is asked for before the one clock is read: by a branch.
inline condition clock_after_load() {
  constexpr unsigned clock = 0x50;
  return [](const kernel_code& k) {
    const auto loop = k.hot_loop(opcode::ldg);
    bool loaded = false, branched = false;
    std::size_t clocks = 0;
    for (std::size_t i = loop.begin; i < loop.end; ++i) {
      const instruction& at = k.code[i];
      if (at.is() == opcode::ldg) loaded = true;
      if (at.is() == opcode::branch || at.is() == opcode::exit) branched = loaded;
      if (at.is() != opcode::cs2r || at.special_register() != clock) continue;
      if (!branched) return false;
      ++clocks;
    }
    return clocks == 1 && k.count(opcode::ldg, loop) == 1;
  };
}

/// No loop, and `n` instructions within a tenth, the padding aside.
inline condition straight(double n) {
  return [=](const kernel_code& k) {
    const auto size = static_cast<double>(k.code.size() - k.count(opcode::nop));
    return k.loops().empty() && size > 0.9 * n && size < 1.1 * n;
  };
}

/// Loads of the hot loop have `bytes`, and there are `n`.
inline condition shared_loads(std::size_t n, unsigned bytes) {
  return [=](const kernel_code& k) {
    const auto loop = k.hot_loop(opcode::lds);
    for (std::size_t i = loop.begin; i < loop.end; ++i) {
      if (k.code[i].is() == opcode::lds && k.code[i].bytes() != bytes) return false;
    }
    return k.count(opcode::lds, loop) == n;
  };
}

inline bool uses_local_memory(const kernel_code& k) {
  return k.count(opcode::ldl) + k.count(opcode::stl) > 0;
}

inline bool has_fp8_mma(int architecture) {
  return architecture == 89 || architecture >= 120;
}

}  // namespace perfmodel::validation
