// Published traces: their counts, means and reuse. Long streams in constant memory.
#include <unistd.h>
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <napkin/io/trace_files.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/random.hpp"
#include "support/shared.hpp"

namespace unit_trace_values {

using Catch::Approx;
using common::trace_file;
using common::trace_file_options;

namespace {

trace_file published(const std::string& folder, const std::string& name,
                     const trace_file_options& options = {}) {
  return common::read_trace_file(folder + "/" + name, options);
}

template <class Value>
double mean(const trace_file& f, Value value) {
  double sum = 0.0;
  for (const auto& r : f.workload.requests) sum += static_cast<double>(value(r));
  return sum / static_cast<double>(f.workload.requests.size());
}
double mean_input(const trace_file& f) {
  return mean(f, [](const auto& r) { return r.input_tokens; });
}
double mean_output(const trace_file& f) {
  return mean(f, [](const auto& r) { return r.output_tokens; });
}
double last_s(const trace_file& f) {
  return f.workload.requests.back().arrival_s;
}
double mean_ttft_ms(const trace_file& f) {
  double sum = 0.0;
  for (const auto& m : f.measured) sum += m.ttft_s;
  return 1e3 * sum / static_cast<double>(f.measured.size());
}

/// Blocks, and those that were sent before, by any request or as leading ones.
struct reuse {
  std::int64_t blocks = 0;
  std::int64_t any = 0;
  std::int64_t leading = 0;
};
reuse reuse_of(const trace_file& f) {
  reuse out;
  std::unordered_set<std::uint64_t> seen;
  for (const auto& r : f.workload.requests) {
    const auto begin = f.workload.blocks.begin() + r.first_block;
    bool leads = true;
    out.blocks += r.block_count;
    for (auto b = begin; b != begin + r.block_count; ++b) {
      const bool known = seen.contains(*b);
      leads = leads && known;
      out.any += known ? 1 : 0;
      out.leading += leads ? 1 : 0;
    }
    seen.insert(begin, begin + r.block_count);
  }
  return out;
}

/// Resident memory of this process.
double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0.0, resident = 0.0;
  statm >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// Replays a file of `requests` requests without reading it into memory.
void replay_in_constant_memory(int requests) {
  const auto path =
      std::filesystem::temp_directory_path() / ("trace_" + std::to_string(::getpid()) + ".csv");
  {
    std::ofstream file(path);
    file << "arrival_s,input_tokens,output_tokens\n";
    for (int i = 0; i < requests; ++i) file << i << ".5," << 1 + i % 1000 << ",16\n";
  }
  const double before = resident_mib();
  double most = before, tokens = 0.0;
  {
    const auto reader = common::stream_trace_file(path.string());
    perfmodel::streamed_trace_source source(*reader, {.in_flight_limit = 64});
    perfmodel::simulated_request r;
    const perfmodel::request_record done;
    int taken = 0;
    for (; source.next_arrival() != perfmodel::request_source::never; ++taken) {
      source.take(r);
      source.completed(done, r.arrival);
      tokens += r.input_tokens;
      if (taken % 100000 == 0) most = std::max(most, resident_mib());
    }
    CHECK(taken == requests);
    CHECK(reader->report().rows == requests);
  }
  std::filesystem::remove(path);
  CHECK(tokens == 500.5 * requests);
  CHECK(most - before < 16.0);
}

}  // namespace

TEST_CASE("Azure's traces have their published counts, means and durations", "[shared]") {
  const std::string folder = perfmodel_test::shared_folder("traces");
  const auto code = published(folder, "azure_llm_2023_code.csv");
  CHECK(code.workload.requests.size() == 8819);
  CHECK(mean_input(code) == Approx(2047.8).margin(0.05));
  CHECK(mean_output(code) == Approx(27.9).margin(0.05));
  CHECK(last_s(code) == Approx(3435.9).margin(0.06));
  const auto chat = published(folder, "azure_llm_2023_conv.csv");
  CHECK(chat.workload.requests.size() == 19366);
  CHECK(mean_input(chat) == Approx(1154.7).margin(0.05));
  CHECK(mean_output(chat) == Approx(211.1).margin(0.05));
  CHECK(last_s(chat) == Approx(3501.7).margin(0.06));
}

TEST_CASE("Mooncake's traces have their published means and reuse", "[shared]") {
  const std::string folder = perfmodel_test::shared_folder("traces");
  const auto f = published(folder, "mooncake_conversation_first.jsonl");
  CHECK(f.workload.requests.size() == 7772);
  CHECK(mean_input(f) == Approx(12445.7).margin(0.05));
  CHECK(mean_output(f) == Approx(347.3).margin(0.05));
  CHECK(last_s(f) == 2378.999);
  const reuse r = reuse_of(f);
  CHECK(r.blocks == 192599);
  CHECK(r.any == 67499);  // 35.05 %
  const reuse s = reuse_of(published(folder, "mooncake_synthetic.jsonl"));
  CHECK(static_cast<double>(s.any) / static_cast<double>(s.blocks) == Approx(0.6396).margin(5e-5));
}

TEST_CASE("the sessions of agents have their published means and reuse", "[shared]") {
  const std::string folder = perfmodel_test::shared_folder("traces");
  double requests = 0.0, input = 0.0, output = 0.0, blocks = 0.0, seen = 0.0;
  int of_agents = 0;
  for (const char* name : {"001_190", "191_369"}) {
    const auto f = published(folder, std::string("agentic_claude_requests_") + name + ".csv");
    const auto n = static_cast<double>(f.workload.requests.size());
    requests += n;
    input += n * mean_input(f);
    output += n * mean_output(f);
    const reuse r = reuse_of(f);
    blocks += static_cast<double>(r.blocks);
    seen += static_cast<double>(r.leading);
    // A conversation that begins after a request of another is an agent's.
    std::vector<char> is_agent;
    for (const auto& t : f.workload.requests) {
      const auto session = static_cast<std::size_t>(t.session);
      if (session >= is_agent.size()) is_agent.resize(session + 1, 2);
      if (is_agent[session] == 2) is_agent[session] = t.previous >= 0 ? 1 : 0;
      of_agents += is_agent[session];
    }
  }
  CHECK(requests == 21041.0);
  CHECK(input / requests == Approx(123709.9).margin(0.05));
  CHECK(output / requests == Approx(438.9).margin(0.05));
  CHECK(seen / blocks == Approx(0.9567).margin(1e-4));
  CHECK(of_agents > 600);  // of 676; some begin a session, before any request of its main agent
  const auto hashed = published(folder, "agentic_claude_traces_a.jsonl");
  CHECK(hashed.workload.block_tokens == 64);
  CHECK(hashed.workload.requests.size() == 408);
}

TEST_CASE("request by request: an open loop on an H100", "[shared]") {
  const std::string folder = perfmodel_test::shared_folder("traces");
  auto f =
      published(folder, "qwen3_14b_h100_open_requests.csv", {.run = "sweep_rate/agg_8rps/vanilla"});
  CHECK(f.workload.requests.size() == 4830);
  CHECK(mean_ttft_ms(f) == Approx(90.33).margin(0.005));
  std::vector<double> ttft;
  double tpot = 0.0, e2e = 0.0, end = 0.0;
  for (std::size_t i = 0; i < f.measured.size(); ++i) {
    const auto& m = f.measured[i];
    const auto& r = f.workload.requests[i];
    ttft.push_back(1e3 * m.ttft_s);
    tpot += 1e3 * (m.e2e_s - m.ttft_s) / (r.output_tokens - 1);
    e2e += m.e2e_s;
    end = std::max(end, r.arrival_s + m.e2e_s);
  }
  std::sort(ttft.begin(), ttft.end());
  CHECK(ttft[ttft.size() * 99 / 100] == Approx(213.9).epsilon(0.005));
  CHECK(tpot / 4830.0 == Approx(17.38).margin(0.005));
  CHECK(e2e / end == Approx(18.5).margin(0.1));  // in flight, by Little's law
}

TEST_CASE("request by request: a client with a limit, by planned times", "[shared]") {
  const std::string folder = perfmodel_test::shared_folder("traces");
  const std::string name = "qwen3_14b_h100_mixed_requests_a.csv";
  const auto sent = published(folder, name, {.run = "w7_sweep/agg12"});
  const auto planned =
      published(folder, name, {.run = "w7_sweep/agg12", .arrival_column = "planned_s"});
  CHECK(sent.workload.requests.size() == 7213);
  CHECK(mean_ttft_ms(sent) == Approx(14971.0).margin(0.5));
  CHECK(mean_ttft_ms(planned) == Approx(14971.0).margin(0.5));
  CHECK(last_s(sent) - last_s(planned) == Approx(239.0).margin(1.0));
  double e2e = 0.0;
  for (const auto& m : sent.measured) e2e += m.e2e_s;
  CHECK(e2e / (last_s(sent) + sent.measured.back().e2e_s) == Approx(250.0).margin(2.5));
}

TEST_CASE("request by request: intervals, sessions, bursts and a closed loop", "[shared]") {
  const std::string folder = perfmodel_test::shared_folder("traces");
  const auto detailed = published(folder, "qwen3_14b_h100_2rps_detailed.json");
  double intervals = 0.0, seconds = 0.0;
  for (std::size_t i = 0; i < detailed.measured.size(); ++i) {
    const double n = detailed.workload.requests[i].output_tokens - 1;
    intervals += n;
    seconds += n * detailed.measured[i].tpot_s;
  }
  CHECK(intervals == 38100.0);
  CHECK(1e3 * seconds / intervals == Approx(12.412).margin(5e-4));
  CHECK(mean_ttft_ms(detailed) == Approx(66.84).margin(0.005));

  const auto sessions = published(folder, "sessions_qwen3_8b_a100_prefix_cache_on.csv");
  CHECK(sessions.workload.requests.size() == 136);
  CHECK(136.0 * mean_input(sessions) == Approx(1658870.0));
  CHECK(mean_ttft_ms(sessions) == Approx(238.9).margin(0.05));
  std::map<int, int> turns;
  std::int64_t cached = 0, leading = 0;
  std::unordered_set<std::uint64_t> seen;
  for (std::size_t i = 0; i < sessions.workload.requests.size(); ++i) {
    const auto& r = sessions.workload.requests[i];
    ++turns[r.session];
    cached += sessions.measured[i].cached_tokens;
    const auto begin = sessions.workload.blocks.begin() + r.first_block;
    const auto known = [&seen](std::uint64_t b) { return seen.contains(b); };
    leading += 16 * (std::find_if_not(begin, begin + r.block_count, known) - begin);
    seen.insert(begin, begin + r.block_count);
  }
  CHECK(turns.size() == 8);
  for (const auto& [session, count] : turns) CHECK((count >= 13 && count <= 24));
  CHECK(cached == 1467232);
  CHECK(leading == cached);  // blocks made from the new tokens of each turn

  const auto bursty = published(folder, "bursty_qwen3_8b_a100_requests.csv");
  CHECK(bursty.workload.requests.size() == 200);
  CHECK(200.0 * mean_input(bursty) == Approx(66356.0));
  CHECK(200.0 * mean_output(bursty) == Approx(42672.0));
  CHECK(mean_ttft_ms(bursty) == Approx(65.65).margin(0.015));

  const auto closed = published(folder, "gptoss_h200_c64_request_ttft.csv");
  CHECK(closed.workload.requests.size() == 2560);
  CHECK(2560.0 * mean_input(closed) == Approx(18424797.0));
  CHECK(mean_ttft_ms(closed) == Approx(717.8).margin(0.05));
  CHECK(std::count_if(closed.measured.begin(), closed.measured.end(),
                      [](const auto& m) { return m.ttft_s > 2.0; }) == 60);
}

TEST_CASE("a million requests are replayed in constant memory", "[long]") {
  replay_in_constant_memory(1'000'000);
}
TEST_CASE("ten million requests are replayed in constant memory", "[.][long]") {
  replay_in_constant_memory(10'000'000);
}

TEST_CASE("whatever bytes a trace has, it is read or refused by name") {
  const std::string samples[] = {
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.9799600,4808,10\n",
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n5,3,2,a,224,7\n",
      "trace,agent,index,t_s,input_tokens,output_tokens,leading_blocks_seen,think_time_s\n"
      "1,main,0,0,256,5,0,0\n1,sub,0,1,256,5,2,0\n1,main,1,2,300,5,4,1\n",
      "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [0, 1, 2]}\n",
      "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 6.1, \"input_length\": 32, "
      "\"output_length\": 2, \"hash_ids\": [9, 8]}\n",
      "{\"session_id\": \"a\", \"arrival_time_ns\": 4, \"sub_requests\": [{\"input_toks\": 14, "
      "\"output_toks\": 13, \"tool_duration_ns\": 12}]}\n",
      "{\"id\":\"a\",\"block_size\":64,\"requests\":[{\"t\":0.0,\"in\":200,\"out\":5,\"hash_ids\":"
      "[1,2,3]},{\"t\":4,\"agent_id\":\"x\",\"requests\":[{\"t\":0,\"in\":64,\"out\":1}]}]}\n",
      "{\"input_lens\": [10, 20], \"output_lens\": [3, 2], \"ttfts\": [1, 2], \"itls\": [[1], 2]}",
      "{\"metadata\": {\"request_start_ns\": 17, \"turn_index\": 0}, \"metrics\": "
      "{\"input_sequence_length\": {\"value\": 5}, \"output_sequence_length\": {\"value\": 9}}}\n"};
  constexpr char bytes[] =
      ",\n\"{}[]:-.0129eE \t;\0\x80\xff"
      "an";
  perfmodel_test::random_numbers random(20);
  const auto below = [&random](std::size_t n) {
    return static_cast<std::size_t>(random.uniform() * static_cast<double>(n));
  };
  int read = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = samples[below(std::size(samples))];
    text += text.substr(text.find('\n') + 1);
    for (std::size_t edits = below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      const char c = bytes[below(sizeof bytes - 1)];
      switch (below(4)) {
        case 0: text[at] = c; break;
        case 1: text.insert(at, 1 + below(3), c); break;
        case 2: text.erase(at, 1 + below(8)); break;
        default: text.resize(at);
      }
    }
    try {
      const auto f = common::read_trace_text(text, "t");
      const perfmodel::trace_source valid(f.workload);  // checks it
      ++read;
    } catch (const perfmodel::error& e) {
      ++refused;
      if (std::string(e.what()).find('t') == std::string::npos) FAIL(text << e.what());
    }
  }
  CHECK(read > 2000);
  CHECK(refused > 2000);
}

}  // namespace unit_trace_values
