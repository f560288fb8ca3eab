// Tables of test data.
#pragma once

#include <napkin/io/table_file.hpp>

namespace perfmodel_test {

/// A table of tests/data. Throws where the file is missing.
inline common::table_file test_data(const std::string& file) {
  return common::read_table_file("test data", PERFMODEL_SOURCE_DIR "/tests/data/" + file);
}

}  // namespace perfmodel_test
