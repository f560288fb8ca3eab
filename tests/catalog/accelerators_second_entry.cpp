// Double entry: every stated field of every accelerator against a table typed by itself.
#include <catalog/accelerator_fields.hpp>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/hardware/catalog/alternatives.hpp>
#include <set>
#include <support/tables.hpp>

namespace catalog_accelerators_second_entry {

namespace pm = perfmodel;
namespace catalog = perfmodel::catalog;
using namespace catalog_test;

TEST_CASE("every field of every accelerator agrees with its second entry") {
  auto rows = read_second_entry(perfmodel_test::test_data("accelerators_second_entry.tsv"));
  for (const auto& a : catalog::accelerators) {
    for (const std::string& line : differences(stated(*a.spec), rows[a.key])) {
      FAIL_CHECK(a.key << " " << line);
    }
    rows.erase(a.key);
  }
  for (const auto& [name, fields] : rows) FAIL_CHECK(name << ": rows of an unknown accelerator");
}

TEST_CASE("every stated number names a source") {
  for (const auto& a : catalog::accelerators) {
    CHECK(a.spec->name.view() == a.key);
    for (const auto& [field, e] : stated(*a.spec)) {
      if (e.from == nullptr) continue;
      INFO(a.key << " " << field);
      CHECK(e.from != &pm::given_by_caller);
      CHECK(e.from->how != pm::basis::given);
      CHECK(std::string_view(e.from->text).size() > 10);
      CHECK(e.number > 0.0);
    }
  }
}

TEST_CASE("a number of the maker's own is cited from the maker") {
  for (const auto& a : catalog::accelerators) {
    for (const auto& [field, e] : stated(*a.spec)) {
      if (e.from == nullptr || e.from->how != pm::basis::vendor) continue;
      INFO(a.key << " " << field << ": " << e.from->text);
      const std::string_view text = e.from->text;
      bool makers = false;
      for (const char* place :
           {"nvidia.com", "dam-cdn.nvd.orangelogic.com", "github.com/NVIDIA", "closed/NVIDIA",
            "amd.com", "closed/AMD", "github.com/ROCm", "quic.github.io", "cloud.google.com",
            "awsdocs-neuron", "apple.com"}) {
        makers = makers || text.find(place) != text.npos;
      }
      CHECK(makers);
    }
  }
}

TEST_CASE("the comparison notices whatever is planted") {
  const entries good = stated(catalog::h100_sxm);
  REQUIRE(differences(good, good).empty());
  REQUIRE(good.contains("dram.bandwidth"));
  REQUIRE(good.contains("fabric.in_network_reduction"));

  entries row_without_field = good;
  row_without_field["dram.frobnication"] = {1.0, "", nullptr};
  CHECK(differences(good, row_without_field).size() == 1);

  entries field_without_row = good;
  field_without_row.erase("dram.bandwidth");
  CHECK(differences(good, field_without_row).size() == 1);

  entries one_in_a_hundred_million = good;
  one_in_a_hundred_million["dram.bandwidth"].number *= 1.00000001;
  CHECK(differences(good, one_in_a_hundred_million).size() == 1);

  entries other_word = good;
  other_word["fabric.kind"].word = "PCIe";
  CHECK(differences(good, other_word).size() == 1);

  pm::accelerator zeroed = catalog::h100_sxm;  // a fact set to nothing is a field without a value
  zeroed.tdp = {};
  CHECK(differences(stated(zeroed), good).size() == 1);

  const std::string table = "accelerator\tfield\tvalue\tunit\nh100_sxm\ttdp\t700\tW\n";
  const auto rows_with = [&](const char* row) {
    return read_second_entry(common::read_table(table + row, "planted.tsv")).size();
  };
  CHECK(rows_with("h200_sxm\ttdp\t700\tW\n") == 2);
  CHECK_THROWS_AS(rows_with("h200_sxm\tdram.bandwidth\t3.35e12\n"), pm::error);  // three cells
  CHECK_THROWS_AS(rows_with("h100_sxm\ttdp\t700\tW\n"), pm::error);              // twice
}

TEST_CASE("every accelerator name of the tool is found") {
  for (const char* name : {"v100_sxm_32gb",
                           "t4",
                           "a100_pcie_40gb",
                           "a100_pcie_80gb",
                           "a10",
                           "a40",
                           "rtx_a6000",
                           "rtx_3090",
                           "h100_nvl",
                           "h20_141gb",
                           "h800_sxm",
                           "gh200_144gb",
                           "rtx_pro_6000_workstation",
                           "rtx_pro_6000_max_q",
                           "gb10",
                           "mi325x",
                           "mi350x",
                           "mi355x",
                           "tpu_v6e",
                           "tpu7x",
                           "trainium2",
                           "trainium3",
                           "gaudi_3",
                           "m4_pro",
                           "m4_max_32core",
                           "m4_max",
                           "a100_sxm_40gb",
                           "a100_sxm_80gb",
                           "h100_sxm",
                           "h100_pcie",
                           "h200_sxm",
                           "h20",
                           "gh200_96gb",
                           "b200_sxm",
                           "b300_sxm",
                           "gb200",
                           "gb300",
                           "l4",
                           "l40s",
                           "rtx_4090",
                           "rtx_5080",
                           "rtx_5090",
                           "rtx_pro_6000",
                           "mi210",
                           "mi300x",
                           "tpu_v5e",
                           "tpu_v5p",
                           "m2_ultra",
                           "m3_ultra",
                           "jetson_orin_nano_8gb",
                           "jetson_orin_nx_16gb",
                           "jetson_agx_orin_64gb",
                           "jetson_thor",
                           "groq_lpu",
                           "cerebras_wse3",
                           "vera_rubin_nvl72",
                           "rubin_ultra_nvl576"}) {
    INFO(name);
    REQUIRE(catalog::find_accelerator(name) != nullptr);
    CHECK(catalog::find_accelerator(name)->name.view() == name);
  }
  CHECK(catalog::find_accelerator("h101") == nullptr);
  CHECK(catalog::find_accelerator("") == nullptr);
}

TEST_CASE("alternatives fit a field, say what they are, and differ from the default") {
  const std::set<std::string_view> known = {"alternative", "marketing", "sparse",
                                            "two_way",     "refuted",   "announced"};
  for (const auto& other : catalog::alternatives) {
    INFO(other.accelerator << " " << other.field << " " << other.value);
    CHECK(known.contains(other.status));
    CHECK(std::string_view(other.from.text).size() > 10);
    CHECK(std::string_view(other.why).size() > 3);
    const pm::accelerator* a = catalog::find_accelerator(other.accelerator);
    REQUIRE(a != nullptr);
    const entries before = stated(*a);
    const entries after = stated(catalog::with_alternative(*a, other));
    REQUIRE(after.contains(other.field));
    CHECK(after.at(other.field).number == other.value);
    if (before.contains(other.field)) CHECK(before.at(other.field).number != other.value);
    if (after.at(other.field).from != nullptr) CHECK(after.at(other.field).from == &other.from);
    // Nothing else moves.
    const std::size_t changed = differences(after, before).size();
    CHECK(changed == 1);
  }
}

TEST_CASE("an alternative of another accelerator or of no field is refused") {
  const catalog::alternative& first = catalog::alternatives[0];
  CHECK_THROWS_AS(catalog::with_alternative(catalog::h100_sxm, first), pm::error);
  for (const char* path :
       {"dram", "dram.capacity.more", "drum.capacity", "name", "fabric.kind", ""}) {
    catalog::alternative wrong = first;
    wrong.field = path;
    INFO(path);
    CHECK_THROWS_AS(catalog::with_alternative(catalog::v100_sxm_32gb, wrong), pm::error);
  }
}

}  // namespace catalog_accelerators_second_entry
