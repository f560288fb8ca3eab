// Version of the library: semantic versioning, read by the build as well.
#pragma once

#define PERFMODEL_VERSION_MAJOR 0
#define PERFMODEL_VERSION_MINOR 3
#define PERFMODEL_VERSION_PATCH 0
#define PERFMODEL_VERSION "0.3.0"
