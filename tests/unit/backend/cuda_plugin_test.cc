// Which CUDA plug-in is taken for a driver and a device, and what is said where none can be.
#include "engine/backend/cuda_plugin.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kedge::engine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* k13 = "libkedge_cuda.so";
constexpr const char* k12 = "libkedge_cuda12.so";

// A folder of plug-ins, and a driver whose library is tests/support/fake_driver.cc.
class CudaPlugins : public testing::Test {
 protected:
  void SetUp() override {
    std::string place = testing::TempDir() + "kedge-plugins-XXXXXX";
    ASSERT_NE(mkdtemp(place.data()), nullptr);
    folder_ = place;
  }
  void TearDown() override {
    for (const char* name : {"KEDGE_FAKE_DRIVER", "KEDGE_FAKE_CAPABILITIES", "KEDGE_FAKE_UUID"}) unsetenv(name);
    fs::remove_all(folder_);
  }

  void install(const char* name, const char* file = KEDGE_EMPTY_PLUGIN) { fs::create_symlink(file, folder_ / name); }
  void install_both() {
    install(k13);
    install(k12);
  }

  CudaDriver driver(const char* cuda, const char* capabilities = "", const char* release = "") {
    setenv("KEDGE_FAKE_DRIVER", cuda, 1);
    setenv("KEDGE_FAKE_CAPABILITIES", capabilities, 1);
    std::ofstream(folder_ / "version") << "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " << release
                                       << "  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 12.2.0\n";
    return find_cuda_driver(KEDGE_FAKE_DRIVER_LIBRARY, folder_ / "version");
  }
  LoadedPlugin load(const CudaDriver& driver, int index = 0) const {
    const std::array<fs::path, 2> folders{folder_ / "nothing", folder_};
    return load_cuda_plugin(folders, driver, index);
  }
  std::string taken(const CudaDriver& driver, int index = 0) const {
    const LoadedPlugin loaded = load(driver, index);
    return loaded.table ? loaded.file.filename().string() : loaded.missing;
  }

  fs::path folder_;
};

TEST_F(CudaPlugins, TheDriverIsAskedForItsVersionAndItsDevices) {
  const CudaDriver found = driver("12020", "75,90", "535.104.05");
  EXPECT_EQ(found.cuda, 12020);
  EXPECT_EQ(found.release, "535.104.05");
  EXPECT_THAT(found.capabilities, ElementsAre(75, 90));
  EXPECT_THAT(found.missing, IsEmpty());
}

TEST_F(CudaPlugins, TheDriverIsAskedWhichDevicesTheyAre) {
  driver("12020", "75,90");
  EXPECT_THAT(cuda_uuids(KEDGE_FAKE_DRIVER_LIBRARY), IsEmpty());   // it does not say
  setenv("KEDGE_FAKE_UUID", "16", 1);
  EXPECT_THAT(cuda_uuids(KEDGE_FAKE_DRIVER_LIBRARY),
              ElementsAre("10000000000000000000000000000000", "11000000000000000000000000000000"));
  EXPECT_THAT(cuda_uuids("libcuda-that-is-not-there.so.1"), IsEmpty());
  EXPECT_THAT(cuda_uuids(KEDGE_EMPTY_PLUGIN), IsEmpty());
}

TEST_F(CudaPlugins, WithoutADriverThePluginIsAskedAndElseThatIsTheReason) {
  const CudaDriver found = find_cuda_driver("libcuda-that-is-not-there.so.1", folder_ / "version");
  EXPECT_EQ(found.cuda, 0);
  EXPECT_THAT(taken(found), AllOf(StartsWith("no NVIDIA driver: "), HasSubstr("libcuda-that-is-not-there.so.1"),
                                  HasSubstr("libkedge_cuda.so is not installed")));
  install_both();
  EXPECT_EQ(taken(found), k13);
}

TEST_F(CudaPlugins, ALibraryThatIsNoDriverIsNone) {
  const CudaDriver found = find_cuda_driver(KEDGE_EMPTY_PLUGIN, folder_ / "version");
  EXPECT_EQ(found.cuda, 0);
  EXPECT_THAT(found.missing, HasSubstr("does not tell its version"));
  EXPECT_THAT(driver("0").missing, HasSubstr("does not tell its version"));
}

TEST_F(CudaPlugins, TheNewestThatTheDriverCanTake) {
  install_both();
  EXPECT_EQ(taken(driver("13000")), k13);   // 580
  EXPECT_EQ(taken(driver("14010")), k13);
  EXPECT_EQ(taken(driver("12090")), k12);   // 575
  EXPECT_EQ(taken(driver("12020")), k12);   // 535
  EXPECT_EQ(taken(driver("12000")), k12);   // 525
}

TEST_F(CudaPlugins, AnOlderDriverTakesNoneAndTheReasonNamesWhatIsNeeded) {
  install_both();
  EXPECT_EQ(taken(driver("11040", "", "470.57.02")),
            "NVIDIA driver 470.57.02 (CUDA 11.4): libkedge_cuda.so needs driver 580 (CUDA 13.0) or newer; "
            "libkedge_cuda12.so needs driver 525 (CUDA 12.0) or newer");
  EXPECT_THAT(taken(driver("11080")), StartsWith("NVIDIA driver (CUDA 11.8): "));   // its module does not say
}

TEST_F(CudaPlugins, WhereTheBestIsMissingTheOtherIsTaken) {
  install(k12);
  EXPECT_EQ(taken(driver("13000")), k12);
}

TEST_F(CudaPlugins, WhereTheOlderIsMissingTheReasonHasBoth) {
  install(k13);
  EXPECT_EQ(taken(driver("12020", "", "535.104.05")),
            "NVIDIA driver 535.104.05 (CUDA 12.2): libkedge_cuda.so needs driver 580 (CUDA 13.0) or newer; "
            "libkedge_cuda12.so is not installed");
}

TEST_F(CudaPlugins, WhereTheBestDoesNotLoadTheOtherIsTaken) {
  std::ofstream(folder_ / k13) << "no shared object";
  install(k12);
  EXPECT_EQ(taken(driver("13000")), k12);
  EXPECT_THAT(taken(driver("12020")), k12);
}

TEST_F(CudaPlugins, WhatDoesNotFitTheProgramIsNotTaken) {
  install(k13, KEDGE_OTHER_ABI_PLUGIN);
  install(k12, KEDGE_THROWING_PLUGIN);
  const std::string reason = taken(driver("13000"));
  EXPECT_THAT(reason, HasSubstr("libkedge_cuda.so is of another build: interface "));
  EXPECT_THAT(reason, HasSubstr("libkedge_cuda12.so has no kedge_cuda_plugin"));
}

TEST_F(CudaPlugins, EachDeviceHasThePluginWithCodeForIt) {
  install_both();
  const CudaDriver found = driver("13000", "70,75,61,120");
  EXPECT_EQ(taken(found, 0), k12);   // Volta, which CUDA 13 has dropped
  EXPECT_EQ(taken(found, 1), k13);
  EXPECT_EQ(taken(found, 2),
            "NVIDIA driver (CUDA 13.0): libkedge_cuda.so needs compute capability 7.5 or newer, cuda:2 has 6.1; "
            "libkedge_cuda12.so needs compute capability 7.0 or newer, cuda:2 has 6.1");
  EXPECT_EQ(taken(found, 3), k13);
}

TEST_F(CudaPlugins, WithoutAnyTheDriverNeedNotBeAsked) {
  const std::array<fs::path, 1> folders{folder_};
  EXPECT_EQ(missing_cuda_plugins(folders),
            "the CUDA backend is not installed: libkedge_cuda.so is not there, nor libkedge_cuda12.so");
  install(k12);
  EXPECT_THAT(missing_cuda_plugins(folders), IsEmpty());
}

// The real ones, as far as a machine without a GPU can ask them.
TEST(BuiltCudaPlugins, LoadAndAnswer) {
  std::istringstream files(KEDGE_BUILT_PLUGINS);
  int asked = 0;
  for (std::string file; std::getline(files, file, ':'); ++asked) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto* const entry = reinterpret_cast<PluginEntry*>(dlsym(library, kPluginEntry));
    ASSERT_NE(entry, nullptr) << file;
    EXPECT_EQ(entry()->abi, kPluginAbi);
    std::array<char, 512> message{};
    const int count = entry()->count(message.data(), message.size());
    EXPECT_TRUE(count > 0 || message[0] != 0) << file << " finds " << count << " devices and does not say why";
    if (count > 0) continue;
    EXPECT_EQ(entry()->open(0, message.data(), message.size()), nullptr);
    EXPECT_NE(message[0], 0);
  }
  if (asked == 0) GTEST_SKIP() << "no CUDA backend has been built";
}

}   // namespace
}   // namespace kedge::engine
