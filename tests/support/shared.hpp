// Measurements that others published. They are not part of this repository.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <napkin/io/table_file.hpp>

namespace perfmodel_test {

/// A folder of reference data: $PERFMODEL_SHARED/<name>, by default ../shared/<name> next to the
/// checkout.
///
/// A test that reads it has the tag [shared] and calls this before its first assertion, never
/// inside one: it skips the test where there is no such folder, and fails it where PERFMODEL_SHARED
/// promises one.
inline std::string shared_folder(const std::string& name) {
  const char* stated = std::getenv("PERFMODEL_SHARED");
  const bool promised = stated != nullptr && *stated != '\0';
  const std::string folder =
      (promised ? std::string(stated) : PERFMODEL_SOURCE_DIR "/../shared") + "/" + name;
  if (!std::filesystem::is_directory(folder)) {
    if (promised) FAIL("PERFMODEL_SHARED is set, and there is no folder " << folder);
    SKIP("needs what others published, which is not in this repository; set PERFMODEL_SHARED");
  }
  return folder;
}
inline std::string measured_folder() {
  return shared_folder("measured");
}
/// A table of that folder.
inline common::table_file measured_table(const std::string& file) {
  return common::read_table_file("measurements", measured_folder() + "/" + file);
}

}  // namespace perfmodel_test
