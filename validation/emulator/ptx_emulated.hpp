// common/ptx.cuh where a CPU plays the device: what the PTX ISA says of each instruction, in C++.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perfmodel::validation::ptx {

/// Whatever the architecture that it reports.
constexpr bool has_fp8_mma(int) {
  return true;
}

namespace emulated {

struct fragments {
  std::uint32_t a[4], b[2];
};

inline float bf16_at(const std::uint32_t* registers, int i) {
  const auto bits = static_cast<std::uint16_t>(registers[i / 2] >> (16 * (i % 2)));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}
inline float fp8_at(const std::uint32_t* registers, int i) {
  __nv_fp8_e4m3 v;
  v.__x = static_cast<__nv_fp8_storage_t>(registers[i / 4] >> (8 * (i % 4)));
  return static_cast<float>(v);
}

/// Rows and columns by the tables of mma.m16n8k16 (bf16) and mma.m16n8k32 (8 bits): `Each` values
/// lie in a register, neighbours along k.
template <int Each, class At>
void product(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], At at) {
  fragments mine{};
  for (int i = 0; i < 4; ++i) mine.a[i] = a[i];
  for (int i = 0; i < 2; ++i) mine.b[i] = b[i];
  constexpr int k = 8 * Each;
  const int lane = static_cast<int>(::emulator::current().lane);
  ::emulator::exchange(0xFFFFFFFFU, mine, [&](auto of) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
      double sum = 0;
      for (int j = 0; j < k; ++j) {
        // The lane that holds a[row][j], and the register: four lanes share a row, Each values at a
        // time; the second half of k is in registers 2 and 3, rows from 8 on in 1 and 3.
        const int within = j % (4 * Each), half = j / (4 * Each);
        const fragments fa = of(static_cast<unsigned>(row % 8 * 4 + within / Each));
        const int ra = (row >= 8 ? 1 : 0) + 2 * half;
        const fragments fb = of(static_cast<unsigned>(column * 4 + within / Each));
        sum += static_cast<double>(at(fa.a, ra * Each + within % Each)) *
               static_cast<double>(at(fb.b, half * Each + within % Each));
      }
      d[i] += static_cast<float>(sum);
    }
    return 0;
  });
}

}  // namespace emulated

inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  emulated::product<2>(d, a, b, emulated::bf16_at);
}
inline void mma_fp8(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  emulated::product<4>(d, a, b, emulated::fp8_at);
}

namespace emulated {

inline void matrices(std::uint32_t (&r)[4], const void* row, bool transposed) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) {
    std::fprintf(stderr, "emulator: ldmatrix from an address that is no multiple of 16\n");
    std::exit(1);
  }
  struct bytes16 {
    std::uint16_t v[8];
  } mine;
  std::memcpy(&mine, row, 16);
  const unsigned lane = ::emulator::current().lane;
  ::emulator::exchange(0xFFFFFFFFU, mine, [&](auto of) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned far = lane / 4, near = lane % 4 * 2;
      const std::uint32_t low = transposed ? of(8 * i + near).v[far] : of(8 * i + far).v[near];
      const std::uint32_t high =
          transposed ? of(8 * i + near + 1).v[far] : of(8 * i + far).v[near + 1];
      r[i] = low | high << 16U;
    }
    return 0;
  });
}

}  // namespace emulated

inline void load_matrices(std::uint32_t (&r)[4], const void* row) {
  emulated::matrices(r, row, false);
}
inline void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) {
  emulated::matrices(r, row, true);
}

inline std::uint32_t transpose_matrix(std::uint32_t matrix) {
  return ::emulator::exchange(0xFFFFFFFFU, matrix, [&](auto of) {
    const unsigned lane = ::emulator::current().lane, row = lane / 4, column = lane % 4 * 2;
    // Element (i, j) is half j % 2 of lane 4 i + j / 2.
    const auto at = [&](unsigned i, unsigned j) {
      return of(4 * i + j / 2) >> (16 * (j % 2)) & 0xFFFFU;
    };
    return at(column, row) | at(column + 1, row) << 16U;
  });
}
inline std::uint32_t and_xor(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) ^ c;
}
inline std::uint32_t and_or(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) | c;
}
inline float power_of_two(float x) {
  return x < -126.0F ? 0.0F : std::exp2(x);
}

/// The bytes arrive when they are waited for, and not before.
inline void copy_async(void* shared, const void* global, bool there = true) {
  if ((reinterpret_cast<std::uintptr_t>(shared) | reinterpret_cast<std::uintptr_t>(global)) % 16 !=
      0) {
    std::fprintf(stderr, "emulator: cp.async with an address that is no multiple of 16\n");
    std::exit(1);
  }
  ::emulator::copies().open.push_back({shared, there ? global : nullptr});
}
inline void commit_copies() {
  auto& c = ::emulator::copies();
  c.groups.push_back(std::move(c.open));
  c.open.clear();
}
template <int Still>
void wait_copies() {
  auto& c = ::emulator::copies();
  while (c.groups.size() > Still) {
    for (const auto& copy : c.groups.front()) {
      if (copy.from == nullptr) {
        std::memset(copy.to, 0, 16);
      } else {
        std::memcpy(copy.to, copy.from, 16);
      }
    }
    c.groups.pop_front();
  }
}

inline std::uint64_t load_past_l1(const std::uint64_t* p) {
  return *p;
}
inline std::uint64_t load_through_l1(const std::uint64_t* p) {
  return *p;
}
inline std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(clock64());
}
inline unsigned sm_id() {
  return 0;
}

}  // namespace perfmodel::validation::ptx
