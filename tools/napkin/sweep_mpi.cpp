#include "sweep_mpi.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#ifdef NAPKIN_WITH_MPI
// Only the C interface; the C++ one is gone from the standard.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace napkin {

#ifdef NAPKIN_WITH_MPI

namespace {

constexpr std::size_t longest_message = std::size_t{1} << 28U;
constexpr int length_tag = 1, text_tag = 2;

void send_text(const std::string& text, std::uint64_t errors) {
  const std::uint64_t head[2] = {text.size(), errors};
  MPI_Send(head, 2, MPI_UINT64_T, 0, length_tag, MPI_COMM_WORLD);
  for (std::size_t at = 0; at < text.size(); at += longest_message) {
    const int n = static_cast<int>(std::min(longest_message, text.size() - at));
    MPI_Send(text.data() + at, n, MPI_CHAR, 0, text_tag, MPI_COMM_WORLD);
  }
}
std::uint64_t receive_text(int from, std::string& text) {
  std::uint64_t head[2] = {};
  MPI_Recv(head, 2, MPI_UINT64_T, from, length_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  text.resize(head[0]);
  for (std::size_t at = 0; at < text.size(); at += longest_message) {
    const int n = static_cast<int>(std::min(longest_message, text.size() - at));
    MPI_Recv(text.data() + at, n, MPI_CHAR, from, text_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return head[1];
}

/// Rows as bytes: for each cell its kind, then its number, or the length and bytes of its text.
std::string packed(const std::vector<std::vector<cell>>& rows) {
  std::string s;
  const auto put = [&s](const auto& x) {
    char bytes[sizeof(x)];
    std::memcpy(bytes, &x, sizeof(x));
    s.append(bytes, sizeof(x));
  };
  for (const auto& row : rows) {
    for (const cell& c : row) {
      s += static_cast<char>(c.index());
      if (const auto* x = std::get_if<double>(&c)) put(*x);
      if (const auto* b = std::get_if<bool>(&c)) s += *b ? '\1' : '\0';
      if (const auto* text = std::get_if<std::string>(&c)) {
        put(text->size());
        s += *text;
      }
    }
  }
  return s;
}
cell unpacked(std::string_view& s) {
  const auto take = [&s](auto& x) {
    std::memcpy(&x, s.data(), sizeof(x));
    s.remove_prefix(sizeof(x));
  };
  const auto kind = static_cast<std::size_t>(s[0]);
  s.remove_prefix(1);
  if (kind == 1) {
    double x = 0.0;
    take(x);
    return x;
  }
  if (kind == 2) {
    const bool b = s[0] != '\0';
    s.remove_prefix(1);
    return b;
  }
  if (kind == 3) {
    std::size_t n = 0;
    take(n);
    std::string text(s.substr(0, n));
    s.remove_prefix(n);
    return text;
  }
  return std::monostate{};
}

}  // namespace

sweep_ranks::sweep_ranks(bool uses_mpi) {
  if (!uses_mpi) return;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}
sweep_ranks::~sweep_ranks() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun != 0 && ended == 0) MPI_Finalize();
}

std::uint64_t sweep_ranks::append(const std::string& own, std::uint64_t errors,
                                  const std::function<void(std::string_view)>& write) {
  if (rank_ != 0) {
    send_text(own, errors);
    return errors;
  }
  std::string text;
  for (int from = 1; from < size_; ++from) {
    errors += receive_text(from, text);
    write(text);
  }
  return errors;
}

void sweep_ranks::gather(sweep_table& t, const std::function<void(std::vector<cell>&&)>& add) {
  if (rank_ != 0) {
    send_text(packed(t.rows), t.errors);
    return;
  }
  std::string text;
  for (int from = 1; from < size_; ++from) {
    t.errors += receive_text(from, text);
    for (std::string_view rest = text; !rest.empty();) {
      std::vector<cell> row;
      while (row.size() < t.columns.size()) row.push_back(unpacked(rest));
      add(std::move(row));
    }
  }
}

#else

sweep_ranks::sweep_ranks(bool uses_mpi) {
  if (uses_mpi)
    throw error(error_code::inconsistent,
                "mpi is asked for, and this napkin was built without MPI; allowed: a build where "
                "CMake finds MPI (Debian and Ubuntu: libopenmpi-dev), or --shard i/n");
}
sweep_ranks::~sweep_ranks() = default;

std::uint64_t sweep_ranks::append(const std::string&, std::uint64_t errors,
                                  const std::function<void(std::string_view)>&) {
  return errors;
}
void sweep_ranks::gather(sweep_table&, const std::function<void(std::vector<cell>&&)>&) {}

#endif

}  // namespace napkin
