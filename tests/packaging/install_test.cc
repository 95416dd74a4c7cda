// What `cmake --install` leaves in a prefix, and whether it can be used from there.
#include "packaging/packaging_fixture.h"

namespace kudos::testing {
namespace {

class InstallTest : public PackagingTest {};

TEST_F(InstallTest, HoldsTheProgramTheLibraryAndTheirLicence) {
  const std::string lib = KUDOS_LIBDIR;
  std::vector<std::string> files = {"bin/kudos", "share/doc/kudos/LICENSE", lib + "/pkgconfig/kudos.pc",
                                    lib + "/cmake/kudos/kudosConfig.cmake",
                                    lib + "/cmake/kudos/kudosConfigVersion.cmake"};
  for (const char* folder : {"base", "core", "db", "store", "ledger"})
    files.push_back(lib + "/libkudos_" + folder + ".a");
  for (const auto& header : std::filesystem::directory_iterator(source("include/kudos")))
    files.push_back("include/kudos/" + header.path().filename().string());
  for (const auto& file : files) EXPECT_TRUE(std::filesystem::is_regular_file(prefix() / file)) << file;
}

TEST_F(InstallTest, TheProgramRunsFromThere) {
  EXPECT_NE(expect_success({prefix() / "bin/kudos", "--version"}).find(KUDOS_VERSION), std::string::npos);
  expect_success({prefix() / "bin/kudos", "--database-url", server().conninfo(), "status"});
}

TEST_F(InstallTest, TheRuntimeComponentIsTheProgramAlone) {
  const auto runtime = scratch() / "runtime";
  expect_success({KUDOS_CMAKE, "--install", KUDOS_BUILD_DIR, "--prefix", runtime, "--component", "runtime"});
  EXPECT_TRUE(std::filesystem::exists(runtime / "bin/kudos"));
  EXPECT_FALSE(std::filesystem::exists(runtime / "include"));
  EXPECT_FALSE(std::filesystem::exists(runtime / KUDOS_LIBDIR));
}

// A path of this machine in the package would work here and nowhere else.
TEST_F(InstallTest, NamesNeitherTheSourceNorTheBuildTree) {
  for (const char* directory : {"cmake/kudos", "pkgconfig"}) {
    for (const auto& file : std::filesystem::directory_iterator(prefix() / KUDOS_LIBDIR / directory)) {
      const auto text = read_text(file.path());
      EXPECT_EQ(text.find(KUDOS_SOURCE_DIR), std::string::npos) << file.path();
      EXPECT_EQ(text.find(prefix().string()), std::string::npos) << file.path();
    }
  }
}

}  // namespace
}  // namespace kudos::testing
