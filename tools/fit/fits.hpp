// Targets of the program `fit`, each in a source of its own. Each prints its result, or with
// `record` a table for tests/data; it returns 1 where the folder lacks its measurements.
#pragma once

#include <string>

namespace fits {

namespace amd {
int run(const std::string& folder, bool record);
}
namespace attention {
int run(const std::string& folder, bool record);
}
namespace collectives {
int run(const std::string& folder, bool record);
}
namespace coverage {
int run(const std::string& folder, bool record);
}
namespace elementwise {
int run(const std::string& folder, bool record);
}
namespace engines {
int run(const std::string& folder, bool record);
}
namespace gemm {
int run(const std::string& folder, bool record);
}
namespace memory {
int run(const std::string& folder, bool record);
}
namespace moe {
int run(const std::string& folder, bool record);
}
namespace services {
int run(const std::string& folder, bool record);
}
namespace transfer {
int run(const std::string& folder, bool record);
}
namespace workstation {
int run(const std::string& folder, bool record);
}

}  // namespace fits
