// The model catalogue against a second table, filled in from the config.json files by itself.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <perfmodel/workload/model/parameters.hpp>
#include <set>
#include <support/model_fields.hpp>
#include <support/tables.hpp>

namespace pm = perfmodel;
namespace catalog = pm::catalog;

namespace {

// Stored formats have their second entry in config.json alone, see tests/unit/huggingface.cpp.
auto tabulated_fields(const pm::transformer& m) {
  auto fields = perfmodel_test::fields_of(m);
  std::erase_if(fields, [](const auto& f) { return f.first.starts_with("stored."); });
  return fields;
}

}  // namespace

TEST_CASE("the catalogue has every model that the tool promises") {
  for (const char* name :
       {"llama_2_7b", "llama_2_70b", "llama_3_8b", "llama_3_70b", "llama_3_1_405b", "qwen_2_5_3b",
        "qwen_3_32b", "qwen_3_235b_a22b", "mistral_7b", "mixtral_8x7b", "gemma_3_27b",
        "gpt_oss_20b", "gpt_oss_120b", "deepseek_v3"}) {
    INFO(name);
    CHECK(catalog::find_model(name) != nullptr);
  }
}

TEST_CASE("every row of the catalogue is named once, has a source, and exists") {
  std::set<std::string> keys;
  for (const catalog::model_entry& entry : catalog::models) {
    INFO(entry.key);
    CHECK(keys.insert(entry.key).second);
    CHECK(entry.model->name.view() == entry.key);
    CHECK(catalog::find_model(entry.key) == entry.model);
    CHECK(catalog::find_model_entry(entry.key) == &entry);
    CHECK(std::string(entry.source).size() > 20);
    CHECK(entry.published_parameters > 0);
    CHECK((entry.how == pm::basis::vendor || entry.how == pm::basis::derived));
    CHECK_NOTHROW(pm::checked(*entry.model));
  }
}

TEST_CASE("the catalogue equals its second entry, field by field and row by row") {
  const auto table = perfmodel_test::test_data("models_second_entry.tsv");
  std::set<std::string> columns(table.header->columns.begin(), table.header->columns.end()), fields;
  for (const auto& [name, value] : tabulated_fields(catalog::llama_3_70b)) fields.insert(name);
  CHECK(columns.size() == table.header->columns.size());
  CHECK(columns == fields);  // no field without a column, no column without a field

  std::set<std::string> rows;
  for (const auto& row : table.rows) {
    INFO(row.text("name"));
    CHECK(rows.insert(row.text("name")).second);
    const pm::transformer* m = catalog::find_model(row.text("name"));
    REQUIRE(m != nullptr);
    for (const auto& [name, value] : tabulated_fields(*m)) {
      INFO(name);
      CHECK(value == row.text(name));
    }
  }
  // The second entry of a later model is its config.json alone, which tests/unit/huggingface.cpp reads.
  CHECK(rows.size() >= 31);
}
