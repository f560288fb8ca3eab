// Trace formats are read from samples. Faults of a file are named by line and column.
#include <unistd.h>
#include <algorithm>
#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <napkin/io/trace_files.hpp>
#include <string>

#include "support/random.hpp"
#include "support/refusal.hpp"

namespace unit_trace_files {

using Catch::Approx;
using common::trace_file;
using common::trace_file_options;

namespace {

trace_file read(const std::string& text, const trace_file_options& options = {}) {
  return common::read_trace_text(text, "t", options);
}
std::string refused(const std::string& text, const trace_file_options& options = {}) {
  return perfmodel_test::refusal([&] { read(text, options); });
}
bool begins(const std::string& text, const std::string& with) {
  INFO(text);
  return text.starts_with(with);
}
bool says(const trace_file& f, const std::string& note) {
  for (const std::string& n : f.report.notes) {
    if (n.find(note) != std::string::npos) return true;
  }
  return false;
}
/// Block identifiers of a request.
std::vector<std::uint64_t> blocks(const trace_file& f, std::size_t i) {
  const auto& r = f.workload.requests[i];
  const auto first = f.workload.blocks.begin() + r.first_block;
  return {first, first + r.block_count};
}

/// A file in a folder of its own.
class written_file {
 public:
  explicit written_file(const std::string& content, const std::string& name = "trace.csv") {
    std::string pattern = (std::filesystem::temp_directory_path() / "trace_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    path_ = (folder_ / name).string();
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~written_file() { std::filesystem::remove_all(folder_); }
  written_file(const written_file&) = delete;
  written_file& operator=(const written_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

/// Two requests, 0.5 s 10/2 and 1.75 s 20/3, as gzip compresses them.
constexpr std::array<unsigned char, 67> gzip_bytes = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x4b, 0x2c, 0x2a, 0xca,
    0x2c, 0x4b, 0xcc, 0x89, 0x2f, 0xd6, 0xc9, 0xcc, 0x2b, 0x28, 0x2d, 0x89, 0x2f, 0xc9,
    0xcf, 0x4e, 0xcd, 0x2b, 0xd6, 0xc9, 0x2f, 0x2d, 0x41, 0xf0, 0xb8, 0x0c, 0xf4, 0x4c,
    0x75, 0x0c, 0x0d, 0x74, 0x8c, 0xb8, 0x0c, 0xf5, 0xcc, 0x4d, 0x75, 0x8c, 0x0c, 0x74,
    0x8c, 0xb9, 0x00, 0x91, 0x43, 0xae, 0x21, 0x38, 0x00, 0x00, 0x00};
std::string gzip(std::size_t size = gzip_bytes.size()) {
  return {gzip_bytes.begin(), gzip_bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace

TEST_CASE("Azure: seven decimals, with and without a time zone, with images") {
  const auto f = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.9799600,4808,10\n"
      "2023-11-17 00:00:01.0306325,374,1\n");
  CHECK(f.report.format == "azure");
  REQUIRE(f.workload.requests.size() == 2);
  CHECK(f.workload.requests[0].arrival_s == 0.0);
  CHECK(f.workload.requests[1].arrival_s == Approx(1.0506725).margin(1e-12));
  CHECK(f.workload.requests[1].input_tokens == 374);
  CHECK(f.workload.requests[1].output_tokens == 1);
  const auto zones = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-05-10 00:00:00.5+00:00,1,1\r\n"
      "2024-05-10T01:00:01+01:00,1,1\r\n2024-05-09T19:00:02.25-0500,1,1\r\n");
  CHECK(zones.workload.requests[1].arrival_s == 0.5);
  CHECK(zones.workload.requests[2].arrival_s == 1.75);
  const auto images = read(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-03-01T10:00:00.1234567Z,2,1,1\n");
  CHECK(images.report.format == "azure");
  CHECK(says(images, "1 of 1 rows have images"));
}

TEST_CASE("Mooncake: milliseconds, and blocks of 512") {
  const auto f =
      read(R"({"timestamp": 0, "input_length": 1100, "output_length": 500, "hash_ids": [0, 1, 2]})"
           "\n"
           R"({"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [0, 14]})"
           "\n"
           R"({"timestamp": 3001, "input_length": 512, "output_length": 1, "hash_ids": [0, 7]})"
           "\n");
  CHECK(f.report.format == "mooncake");
  CHECK(f.workload.block_tokens == 512);
  CHECK(f.workload.requests[2].arrival_s == 3.001);
  CHECK(blocks(f, 0) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(blocks(f, 1) == std::vector<std::uint64_t>{0, 14});
  CHECK(blocks(f, 2) == std::vector<std::uint64_t>{0});
  CHECK(says(f, "1 of 3 rows have more block identifiers"));
}

TEST_CASE("BurstGPT: whole seconds, failed requests, sessions") {
  const auto f = read(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,224,7,231,API log\n5,GPT-4,10,0,10,API log\n8,ChatGPT,3,1,4,Conversation log\n");
  CHECK(f.report.format == "burstgpt");
  CHECK(f.report.rows == 3);
  CHECK(f.report.failed_rows == 1);
  CHECK(says(f, "1 of 3 rows failed"));
  REQUIRE(f.workload.requests.size() == 2);
  CHECK(f.workload.requests[1].arrival_s == 3.0);
  const auto s = read(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n0,7,2.5,GPT-4,10,5,15,Conversation log\n1,8,1,GPT-4,10,5,15,Conversation log\n"
      "10,7,3,GPT-4,30,5,35,Conversation log\n");
  CHECK(s.workload.requests[2].session == s.workload.requests[0].session);
  CHECK(s.workload.requests[2].session != s.workload.requests[1].session);
  CHECK(s.workload.requests[2].previous == 0);
  CHECK(s.workload.requests[2].think_s == 7.5);  // 10 s less 2.5 s of the request before
}

TEST_CASE("Vidur: lengths without arrivals, and a leading blank") {
  const auto f = read(
      " num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
      "3772,54,3826,69.8\n");
  CHECK(f.report.format == "vidur");
  CHECK(f.workload.requests[0].input_tokens == 3772);
  CHECK(says(f, "there are no arrival times"));
}

TEST_CASE("Bailian: seconds, blocks of 16, and chats by their parents") {
  const auto f = read(
      R"({"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 32, "output_length": 2, "type": "text", "turn": 1, "hash_ids": [9, 8]})"
      "\n"
      R"({"chat_id": 2, "parent_chat_id": 1, "timestamp": 62.5, "input_length": 400, "output_length": 80, "type": "text", "turn": 2})"
      "\n"
      R"({"chat_id": 3, "parent_chat_id": -1, "timestamp": 63, "input_length": 5, "output_length": 8, "type": "text", "turn": 1})"
      "\n");
  CHECK(f.report.format == "bailian");
  CHECK(f.workload.block_tokens == 16);
  CHECK(f.workload.requests[1].arrival_s == Approx(1.386).epsilon(1e-12));
  CHECK(f.workload.requests[1].session == f.workload.requests[0].session);
  CHECK(f.workload.requests[2].session != f.workload.requests[0].session);
  CHECK(f.workload.requests[1].think_s < 0.0);
  CHECK(says(f, "1 turns have no think time"));
}

TEST_CASE("LLMServingSim: nanoseconds, and sessions with the time of tools") {
  const auto f = read(
      R"({"input_toks": 40, "output_toks": 512, "arrival_time_ns": 0, "full_block16_ids": [1, 2]})"
      "\n"
      R"({"session_id": "a", "arrival_time_ns": 4059740, "sub_requests": [{"input_toks": 1472, "output_toks": 133, "tool_duration_ns": 127348767}, {"input_toks": 1582, "output_toks": 125, "tool_duration_ns": 0}]})"
      "\n");
  CHECK(f.report.format == "llmservingsim");
  REQUIRE(f.workload.requests.size() == 3);
  CHECK(blocks(f, 0) == std::vector<std::uint64_t>{1, 2});
  CHECK(f.workload.requests[1].arrival_s == Approx(0.00405974).epsilon(1e-12));
  CHECK(f.workload.requests[2].previous == 1);
  CHECK(f.workload.requests[2].think_s == Approx(0.127348767).epsilon(1e-12));
  CHECK(f.workload.requests[2].input_tokens == 1582);
  CHECK(f.workload.requests[0].session == -1);
}

TEST_CASE("agents: identifiers within a session, a shared prefix, and agents of an agent") {
  const std::string session =
      R"(,"block_size":64,"hash_id_scope":"local","tool_tokens":64,"system_tokens":64,"requests":[
{"t":0.0,"type":"n","in":200,"out":5,"hash_ids":[1,2,3],"api_time":2.0,"think_time":0.0},
{"t":4.0,"type":"subagent","agent_id":"x","requests":[{"t":0.0,"type":"n","in":64,"out":1,"hash_ids":[9],"api_time":1.0}]},
{"t":9.0,"type":"n","in":260,"out":0,"hash_ids":[1,2,3,4],"api_time":3.0,"think_time":3.0},
{"t":20.0,"type":"s","in":270,"out":4,"hash_ids":[1,2,3,4],"think_time":50.0}]})";
  std::string line = session;
  std::erase(line, '\n');
  const auto f = read("{\"id\":\"a\"" + line + "\n{\"id\":\"b\"" + line + "\n");
  CHECK(f.report.format == "agentic_claude");
  CHECK(f.workload.block_tokens == 64);
  REQUIRE(f.workload.requests.size() == 8);
  CHECK(blocks(f, 0)[0] == blocks(f, 4)[0]);
  CHECK(blocks(f, 0)[1] == blocks(f, 4)[1]);
  CHECK(blocks(f, 0)[2] != blocks(f, 4)[2]);
  CHECK(blocks(f, 2)[2] == blocks(f, 0)[2]);
  const auto& r = f.workload.requests;
  CHECK(r[1].previous == 0);  // the agent begins after the request that called it
  CHECK(r[1].think_s == 2.0);
  CHECK(r[1].session != r[0].session);
  CHECK(r[2].previous == 0);
  CHECK(r[2].think_s == 3.0);
  CHECK(r[2].output_tokens == 1);
  CHECK(says(f, "2 of 8 rows have no output"));
  CHECK(r[3].think_s == 11.0);  // not more than the time from one turn to the next
  CHECK(r[4].previous == -1);
  CHECK(r[4].session != r[0].session);
}

TEST_CASE("agents without identifiers: blocks from those that were sent before") {
  const auto f = read(
      "trace,agent,index,t_s,type,model,input_tokens,output_tokens,blocks64,leading_blocks_seen,"
      "api_time_s,think_time_s\n"
      "01,main,0,0,n,m,256,5,4,0,1,0\n01,sub,0,0,n,m,128,5,2,0,1,0\n01,sub,1,3,n,m,192,5,3,2,1,2\n"
      "01,main,1,9,n,m,320,5,5,3,1,2\n02,main,0,0,n,m,256,5,4,0,1,0\n");
  CHECK(f.report.format == "agentic_claude");
  const auto first = blocks(f, 0), second = blocks(f, 3), other = blocks(f, 4);
  CHECK(first.size() == 4);
  REQUIRE(second.size() == 5);
  CHECK(std::equal(first.begin(), first.begin() + 3, second.begin()));
  CHECK(second[3] != first[3]);
  CHECK(other[0] != first[0]);
  CHECK(blocks(f, 2)[1] == blocks(f, 1)[1]);
  CHECK(f.workload.requests[1].previous == 0);
  CHECK(f.workload.requests[3].previous == 0);
  CHECK(f.workload.requests[4].previous == -1);
}

TEST_CASE("BLIS: what the engine counted, sent times, and failures") {
  const auto f = read(
      "request_id,client_id,input_tokens,output_tokens,server_input_tokens,arrival_time_us,"
      "send_time_us,status,error_message\n0,A,256,128,270,168696,1782246578012689,ok,\n"
      "1,A,256,128,250,268696,1782246578013689,error,timeout\n"
      "2,A,256,128,251,368696,1782246579012689,ok,\n");
  CHECK(f.report.format == "blis");
  REQUIRE(f.workload.requests.size() == 2);
  CHECK(f.workload.requests[0].input_tokens == 270);
  CHECK(f.workload.requests[1].arrival_s == 1.0);
  CHECK(f.report.failed_rows == 1);
  const auto planned = read(
      "input_tokens,output_tokens,server_input_tokens,arrival_time_us,send_time_us\n"
      "1,1,1,168696,1782246578012689\n1,1,1,368696,1782246579012689\n",
      {.arrival_column = "arrival_time_us"});
  CHECK(planned.workload.requests[1].arrival_s == Approx(0.2).epsilon(1e-12));
}

TEST_CASE("vllm bench serve: lists with a value per request") {
  const auto f = read(
      R"({"backend": "vllm", "input_lens": [10, 20, 30], "output_lens": [3, 2, 0],
          "start_times": [100.5, 101.0, 102.0], "ttfts": [0.05, 0.06, 0.0],
          "itls": [[0.01, 0.03], 0.02, []], "errors": ["", "", "timeout"]})");
  CHECK(f.report.format == "vllm_bench");
  REQUIRE(f.workload.requests.size() == 2);
  CHECK(f.workload.requests[1].arrival_s == 0.5);
  CHECK(f.measured[0].tpot_s == Approx(0.02));
  CHECK(f.measured[0].e2e_s == Approx(0.09));
  CHECK(f.measured[1].e2e_s == Approx(0.08));  // a mean instead of a list
  CHECK(f.report.failed_rows == 1);
  CHECK(begins(refused(R"({"completed": 3, "total_input_tokens": 5})"),
               "PM-E004: t:1: has no requests"));
  CHECK(begins(refused(R"({"input_lens": [1, 2], "output_lens": [1]})"),
               "PM-E031: t:1: output_lens has 1 values; allowed: as many as input_lens, 2"));
  CHECK(begins(refused(R"({"input_lens": [1.5], "output_lens": [1]})"),
               "PM-E010: t:1: input_lens[0] is 1.5"));
}

TEST_CASE("aiperf: metadata and metrics of each request") {
  const std::string head =
      R"({"metadata": {"session_num": 1, "x_correlation_id": "c", "turn_index": 0, "request_start_ns": 1759813207532900363, "benchmark_phase": ")";
  const std::string tail =
      R"(", "was_cancelled": false}, "metrics": {"input_sequence_length": {"value": 550, "unit": "tokens"}, "time_to_first_token": {"value": 255.9, "unit": "ms"}, "inter_chunk_latency": {"value": [4.8, 5.3], "unit": "ms"}, "request_latency": {"value": 297.5, "unit": "ms"}, "output_sequence_length": {"value": 9, "unit": "tokens"}}, "error": null})"
      "\n";
  const std::string failed =
      R"({"metadata": {"request_start_ns": 1759813207532900363, "was_cancelled": true}, "metrics": {"error_isl": {"value": 550, "unit": "tokens"}}, "error": {"code": 499, "type": "x"}})"
      "\n";
  const auto f = read(head + "warmup" + tail + head + "profiling" + tail + failed);
  CHECK(f.report.format == "aiperf");
  CHECK(f.report.failed_rows == 2);
  REQUIRE(f.workload.requests.size() == 1);
  CHECK(f.workload.requests[0].input_tokens == 550);
  CHECK(f.workload.requests[0].output_tokens == 9);
  CHECK(f.workload.requests[0].session == 0);
  CHECK(f.measured[0].ttft_s == Approx(0.2559));
  CHECK(f.measured[0].e2e_s == Approx(0.2975));
}

TEST_CASE("plain tables by the names of columns") {
  for (const std::string header :
       {"arrival_s,input_tokens,output_tokens", "arrival;prompt_tokens;completion_tokens",
        "Timestamp\tISL\tOSL", "arrived_at,num_prefill_tokens,num_decode_tokens",
        " time , \"prompt-len\" , output len "}) {
    INFO(header);
    std::string row = "1.5,100,7";
    for (char& c : row) {
      if (c == ',' && header.find(';') != header.npos) c = ';';
      if (c == ',' && header.find('\t') != header.npos) c = '\t';
    }
    std::string first = row;
    first.replace(0, 3, "0.0");
    const auto f = read("# a comment\n" + header + "\n" + first + "\n\n" + row + "\n");
    CHECK(f.workload.requests.at(1).arrival_s == 1.5);
    CHECK(f.workload.requests[1].input_tokens == 100);
    CHECK(f.workload.requests[1].output_tokens == 7);
  }
  const auto ms = read("timestamp_ms,isl,osl,note\n0,1,1,x\n250,1,1,\"a, \"\"b\"\"\"\n");
  CHECK(ms.workload.requests[1].arrival_s == 0.25);
  CHECK(says(ms, "columns that are not read: note"));
  const auto sessions = read(
      "arrival_s,session,input_tokens,output_tokens,think_s,ttft_ms,e2e_ms\n"
      "0,x,10,5,,50,900\n0.5,y,10,5,,40,500\n3,x,40,5,1.25,60,800\n");
  CHECK(sessions.workload.requests[2].previous == 0);
  CHECK(sessions.workload.requests[2].think_s == 1.25);
  CHECK(sessions.measured[1].e2e_s == Approx(0.5));
}

TEST_CASE("JSON lines by the names of keys") {
  const auto f = read(
      R"({"arrival_s": 0, "input_tokens": 40, "output_tokens": 3, "hash_ids": [18446744073709551615, 4], "block_size": 32})"
      "\n\n"
      R"({"output_tokens": 3, "arrival_s": 2.5, "input_tokens": 64, "hash_ids": ["ab", "cd"], "block_size": 32})");
  CHECK(f.report.format == "jsonl");
  CHECK(f.workload.block_tokens == 32);
  CHECK(f.workload.requests[1].arrival_s == 2.5);
  CHECK(blocks(f, 1).size() == 2);
  CHECK(begins(refused(R"({"arrival_s": 0, "isl": 40, "osl": 3, "hash_ids": [1, 2]})"),
               "PM-E004: t:1: the row has block identifiers, and their size in tokens is not"));
  CHECK(read(R"({"arrival_s": 0, "isl": 40, "osl": 3, "hash_ids": [1, 2]})", {.block_tokens = 20})
            .workload.block_tokens == 20);
}

TEST_CASE("a line in plain JSON reads as the same line with nested values and escapes") {
  const std::string values =
      R"("timestamp": 12.5, "input_length":1100 ,"output_length" : 3, "session_id": "a b", "hash_ids": [0, 123456789012345678], "x": null, "y": true)";
  const std::string first = R"({"timestamp": -1, "input_length": 5, "output_length": 1})"
                            "\n";
  const auto plain = read(first + "{" + values + "}\n");
  for (const std::string more :
       {", \"z\": {\"timestamp\": 3}", ", \"z\": \"\\u0041\"", ", \"z\": [[1]]", ", \"z\": 1e3"}) {
    INFO(more);
    const auto parsed = read(first + "{" + values + more + "}\n");
    CHECK(blocks(parsed, 1) == blocks(plain, 1));
    CHECK(parsed.workload.requests[1].arrival_s == plain.workload.requests[1].arrival_s);
    CHECK(parsed.workload.requests[1].input_tokens == 1100);
    CHECK(parsed.workload.requests[1].session == 0);
  }
  CHECK(plain.workload.requests[1].arrival_s == 0.0135);
  CHECK(blocks(plain, 1) == std::vector<std::uint64_t>{0, 123456789012345678});
  for (const char* wrong : {"01", "1.", "-", "[1,]", "\"a", "tru", "nul", "1 2", "[01]"}) {
    INFO(wrong);
    CHECK(begins(
        refused(first + R"({"input_length": 5, "output_length": 1, "timestamp": )" + wrong + "}\n"),
        "PM-E001: t:2: not a JSON object"));
  }
}

TEST_CASE("a run of several in a file is chosen") {
  const std::string text =
      "run,model,send_s,planned_s,input_tokens,output_tokens\na,m,0,0,1,1\na,m,2,1,1,1\n"
      "b,n,0,0,2,2\n";
  CHECK(begins(refused(text), "PM-E031: t:4: run is \"b\", and rows before are of \"a\""));
  const auto a = read(text, {.run = "a"});
  CHECK(a.workload.requests.size() == 2);
  CHECK(a.workload.requests[1].arrival_s == 2.0);
  CHECK(a.report.other_runs == 1);
  CHECK(read(text, {.run = "a", .arrival_column = "planned_s"}).workload.requests[1].arrival_s ==
        1.0);
  CHECK(read(text, {.run = "model=n"}).workload.requests.size() == 1);
  CHECK(begins(refused(text, {.run = "c"}), "PM-E004: t:1: there is no request in the file"));
}

TEST_CASE("a clock that goes back is sorted, and said") {
  const auto f = read("arrival_s,isl,osl\n1,1,1\n3,2,1\n2.5,3,1\n3,4,1\n0.5,5,1\n");
  std::vector<int> order;
  for (const auto& r : f.workload.requests) order.push_back(r.input_tokens);
  CHECK(order == std::vector<int>{5, 1, 3, 2, 4});
  CHECK(f.workload.requests[0].arrival_s == 0.0);
  CHECK(f.report.late_rows == 2);
  CHECK(f.report.largest_step_back_s == 2.5);
  CHECK(says(f, "2 of 5 rows are before an earlier row, by up to 2.5 s"));
}

TEST_CASE("what is wrong in a table is named by line and column") {
  const std::string h = "arrival_s,input_tokens,output_tokens\n";
  CHECK(refused(h + "0,1,1\n1,0,1\n") ==
        "PM-E010: t:3: input_tokens is 0; allowed: a whole number, 1 to 1e9");
  CHECK(read(h + "0,1,1\n1,0,1\n", {.skip_empty = true}).report.empty_rows == 1);
  CHECK(begins(refused(h + "0,-5,1\n"), "PM-E010: t:2: input_tokens is \"-5\"; allowed: a whole"));
  CHECK(begins(refused(h + "0,1,2.5\n"), "PM-E010: t:2: output_tokens is \"2.5\"; allowed: a"));
  CHECK(begins(refused(h + "0,many,1\n"), "PM-E005: t:2: input_tokens is \"many\"; allowed: a"));
  CHECK(begins(refused(h + "0,,1\n"), "PM-E005: t:2: input_tokens is \"\"; allowed: a whole"));
  CHECK(begins(refused(h + "0,nan,1\n"), "PM-E005: t:2: input_tokens is \"nan\""));
  CHECK(begins(refused(h + "0,1e300,1\n"), "PM-E010: t:2: input_tokens is \"1e300\""));
  CHECK(
      begins(refused(h + "noon,1,1\n"), "PM-E005: t:2: arrival_s is \"noon\"; allowed: a number"));
  CHECK(begins(refused(h + "2023-02-30 10:00:00,1,1\n"), "PM-E005: t:2: arrival_s is \"2023-02"));
  CHECK(begins(refused(h + "1e300,1,1\n"), "PM-E010: t:2: arrival_s is \"1e300\""));
  CHECK(begins(refused(h + ",1,1\n"), "PM-E005: t:2: arrival_s is \"\""));
  CHECK(begins(refused(h + "0,1\n"), "PM-E031: t:2: 2 cells; the header has 3"));
  CHECK(begins(refused(h + "0,\"1,1\n"), "PM-E031: t:2: a quote is not closed"));
  CHECK(begins(refused(h), "PM-E004: t:1: there is no request in the file"));
  CHECK(begins(refused(""), "PM-E004: t:1: the file is empty"));
  CHECK(begins(refused("\n\n# x\n"), "PM-E004: t:1: the file is empty"));
  CHECK(begins(refused("isl,isl,osl\n1,1,1\n"), "PM-E031: t:1: the column \"isl\" appears twice"));
  const std::string missing = refused("arrival_s,when,output_tokens\n0,1,1\n");
  CHECK(begins(missing, "PM-E004: t:1: there is no column of prompt lengths; allowed: "));
  CHECK(missing.ends_with("columns here: arrival_s, when, output_tokens"));
  CHECK(begins(refused("when,isl,osl\n0,1,1\n"),
               "PM-E004: t:2: there is no arrival time, and these columns are not known: when; "));
  CHECK(begins(refused("t_s,isl,osl,tenant\n0,1,1,x\n", {.strict_columns = true}),
               "PM-E003: t:1: the column \"tenant\" is not known; known: "));
  CHECK(begins(refused("t_s,isl,osl\n0,1,1\n", {.arrival_column = "planned_s"}),
               "PM-E004: t:1: there is no column of arrival times; allowed: planned_s"));
  CHECK(begins(refused("isl,osl\n1,1\n", {.format = "excel"}),
               "PM-E014: the trace format is \"excel\"; allowed: auto, azure"));
  CHECK(begins(refused(h + "0,1," + std::string(2 << 20, '1') + "\n"), "PM-E031: t:2: a line of "));
}

TEST_CASE("what is wrong in JSON lines is named by line and key") {
  const std::string good = R"({"timestamp": 0, "input_length": 5, "output_length": 5})"
                           "\n";
  CHECK(
      begins(refused(good + "{\"timestamp\": 0,\n"), "PM-E001: t:2: not a JSON object at byte 17"));
  CHECK(begins(refused(good + "[1]\n"), "PM-E001: t:2: not a JSON object at byte 1"));
  CHECK(begins(refused(good + R"({"timestamp": 0, "input_length": 5})"),
               "PM-E004: t:2: there is no output length; allowed keys: output_tokens"));
  CHECK(begins(refused(good + R"({"timestamp": 0, "input_length": 0, "output_length": 1})"),
               "PM-E010: t:2: input_length is 0; allowed: a whole number, 1 to 1e9"));
  CHECK(begins(refused(good + R"({"timestamp": 0, "input_length": "x", "output_length": 1})"),
               "PM-E005: t:2: input_length is \"x\""));
  CHECK(begins(refused(good + R"({"timestamp": null, "input_length": 1, "output_length": 1})"),
               "PM-E005: t:2: timestamp is null"));
  CHECK(begins(refused(good + R"({"input_length": 1, "output_length": 1})"),
               "PM-E004: t:2: the row has no arrival time"));
  CHECK(
      begins(refused(good + R"({"timestamp":1,"timestamp":1,"input_length":1,"output_length":1})"),
             "PM-E031: t:2: the key \"timestamp\" appears twice"));
  CHECK(begins(
      refused(good + R"({"timestamp":1,"input_length":1,"output_length":1,"hash_ids":[-1]})"),
      "PM-E005: t:2: hash_ids is -1; allowed: whole numbers"));
  CHECK(begins(refused(good + R"({"timestamp":1,"input_length":1,"output_length":1,"hash_ids":3})"),
               "PM-E005: t:2: hash_ids is 3; allowed: a list"));
  CHECK(begins(refused(R"({"id": "a", "requests": [{"t": 0, "in": -1, "out": 1}]})"),
               "PM-E010: t:1: requests[0].in is -1"));
  CHECK(begins(refused(R"({"session_id": "a", "sub_requests": []})"),
               "PM-E004: t:1: sub_requests is not a list with a request"));
}

TEST_CASE("a file is read plain and compressed, and its faults are named") {
  const written_file packed(gzip(), "trace.csv.gz");
  const auto f = common::read_trace_file(packed.path());
  REQUIRE(f.workload.requests.size() == 2);
  CHECK(f.workload.requests[1].arrival_s == 1.25);
  CHECK(f.workload.label == packed.path());
  const auto fault = [](const std::string& path) {
    return perfmodel_test::refusal([&] { common::read_trace_file(path); });
  };
  const written_file cut(gzip(40), "cut.csv.gz");
  CHECK(fault(cut.path()) == "PM-E040: trace: \"" + cut.path() + "\" is a truncated gzip file");
  std::string changed = gzip();
  changed[30] = static_cast<char>(changed[30] ^ 0x55);
  const written_file broken(changed, "broken.csv.gz");
  CHECK(begins(fault(broken.path()), "PM-E040: "));
  const written_file binary(std::string("\x7f"
                                        "ELF\0\0\1",
                                        7),
                            "program");
  CHECK(fault(binary.path()).find("is a binary file") != std::string::npos);
  CHECK(fault("/nonexistent/trace.csv").ends_with("does not exist, or may not be read"));
  CHECK(fault("/tmp").ends_with("is not a file"));
}

TEST_CASE("a stream gives the requests of the whole file, with late rows sorted") {
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  perfmodel_test::random_numbers random(3);
  for (int i = 0; i < 9000; ++i) {
    text += std::to_string(0.001 * i + random.uniform(0.0, 0.5)) + ",";
    text += std::to_string(1 + i) + ",7\n";
  }
  const written_file file(text);
  const auto whole = common::read_trace_file(file.path());
  const auto stream = common::stream_trace_file(file.path());
  perfmodel::trace_request r;
  std::vector<std::uint64_t> ids;
  for (const auto& expected : whole.workload.requests) {
    REQUIRE(stream->next(r, ids));
    REQUIRE(r.input_tokens == expected.input_tokens);
    REQUIRE(r.arrival_s == expected.arrival_s);
  }
  CHECK(!stream->next(r, ids));
  CHECK(stream->report().rows == 9000);
  CHECK(stream->report().late_rows > 0);
  std::string late = "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 6000; ++i) late += std::to_string(i + 1) + ",1,1\n";
  const written_file unsorted(late + "0.5,1,1\n");
  const auto refuses = common::stream_trace_file(unsorted.path());
  const std::string said = perfmodel_test::refusal([&] {
    while (refuses->next(r, ids)) {
    }
  });
  CHECK(said.find(":6002: the arrival time is ") != std::string::npos);
  const written_file turns("arrival_s,session,think_s,isl,osl\n0,a,0,1,1\n");
  CHECK(perfmodel_test::refusal([&] {
          common::stream_trace_file(turns.path());
        }).find(":2: turns of sessions cannot be read one at a time") != std::string::npos);
}

TEST_CASE("a description of conversations has distributions of lengths") {
  const written_file file(
      R"({"filetype": "generate_conversations", "num_conversations": 24,
 "prompt_input": {"num_turns": {"distribution": "uniform", "min": 12, "max": 18}, "common_prefix_num_tokens": {"distribution": "constant", "value": 500},
  "prefix_num_tokens": {"distribution": "lognormal", "average": 1000, "max": 5000}, "num_tokens": {"distribution": "uniform", "min": 120, "max": 160}},
 "prompt_output": {"num_tokens": {"distribution": "uniform", "min": 80, "max": 120}}})",
      "config.json");
  const auto w = common::read_conversation_workload(file.path());
  CHECK(w.conversations == 24);
  CHECK(w.messages.mean == 15.0);
  CHECK(w.requests.low == 6.0);
  CHECK(w.requests.high == 9.0);
  CHECK(w.shared_prefix.mean == 500.0);
  CHECK(w.prefix.mean == 1000.0);
  CHECK(w.prefix.cv == Approx(0.6197).epsilon(1e-3));
  CHECK(w.prefix.most == 5000);
  CHECK(w.output.high == 120.0);
  CHECK(
      begins(perfmodel_test::refusal([&] { common::read_trace_file(file.path()); }), "PM-E004: "));
  const written_file zipf(
      R"({"num_conversations": 1, "prompt_input": {"num_turns": {"distribution": "zipf"}}})", "z");
  CHECK(perfmodel_test::refusal([&] {
          common::read_conversation_workload(zipf.path());
        }).find("prompt_input.num_turns.distribution is \"zipf\"; allowed: constant") !=
        std::string::npos);
}

}  // namespace unit_trace_files
