"""The headers as a Conan package: conan create cmake/packaging/conan"""

import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy


class Perfmodel(ConanFile):
    name = "perfmodel"
    version = "0.3.0"
    description = "How fast a large model runs on a machine, in arithmetic the compiler checks"
    license = "Apache-2.0"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    default_options = {"boost/*:header_only": True}
    no_copy_source = True

    def export_sources(self):
        checkout = os.path.join(self.recipe_folder, "..", "..", "..")
        for pattern in ("include/*", "LICENSE"):
            copy(self, pattern, src=checkout, dst=self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.74.0 <2]")

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def package(self):
        copy(self, "*.hpp", src=os.path.join(self.source_folder, "include"), dst=os.path.join(self.package_folder, "include"))
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.requires = ["boost::headers"]
        self.cpp_info.set_property("cmake_file_name", "perfmodel")
        self.cpp_info.set_property("cmake_target_name", "perfmodel::perfmodel")
        self.cpp_info.set_property("pkg_config_name", "perfmodel")
