// Archives and packed texts as CSV with the names of the columns.
#include "server/data/sklearn_sets.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "server/data/faces.h"
#include "server/data/mat_file.h"
#include "server/data/newsgroups.h"
#include "server/data/tar_reader.h"
#include "server/data/upload_decoder.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::string_view kScheme = "sklearn://";

// Whose mean rooms, bedrooms and occupants scikit-learn computes of sums, in double.
std::string california_row(std::string_view line) {
  constexpr std::size_t kCells = 9;
  std::array<double, kCells> cells{};
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (std::size_t i = 0; i < kCells; ++i) {
    const auto [next, error] = std::from_chars(at, end, cells[i]);
    const bool is_right = error == std::errc() && (i + 1 < kCells ? next < end && *next == ',' : next == end);
    require(is_right, ErrorCode::kDatasetCorrupt, "cal_housing.data: the line '{}' is not 9 numbers",
            line.substr(0, 80));
    at = next + 1;
  }
  const auto& [longitude, latitude, age, rooms, bedrooms, people, homes, income, value] = cells;
  return fmt::format("{},{},{},{},{},{},{},{},{}", income, age, rooms / homes, bedrooms / homes, people, people / homes,
                     latitude, longitude, value / 100000.0);
}

constexpr std::string_view kCovtype =
    "Elevation,Aspect,Slope,Horizontal_Distance_To_Hydrology,Vertical_Distance_To_Hydrology,Horizontal_Distance_To_Roadways,Hillshade_9am,"
    "Hillshade_Noon,Hillshade_3pm,Horizontal_Distance_To_Fire_Points,Wilderness_Area_0,Wilderness_Area_1,Wilderness_Area_2,Wilderness_Area_3,"
    "Soil_Type_0,Soil_Type_1,Soil_Type_2,Soil_Type_3,Soil_Type_4,Soil_Type_5,Soil_Type_6,Soil_Type_7,Soil_Type_8,Soil_Type_9,Soil_Type_10,"
    "Soil_Type_11,Soil_Type_12,Soil_Type_13,Soil_Type_14,Soil_Type_15,Soil_Type_16,Soil_Type_17,Soil_Type_18,Soil_Type_19,Soil_Type_20,"
    "Soil_Type_21,Soil_Type_22,Soil_Type_23,Soil_Type_24,Soil_Type_25,Soil_Type_26,Soil_Type_27,Soil_Type_28,Soil_Type_29,Soil_Type_30,"
    "Soil_Type_31,Soil_Type_32,Soil_Type_33,Soil_Type_34,Soil_Type_35,Soil_Type_36,Soil_Type_37,Soil_Type_38,Soil_Type_39,Cover_Type";

constexpr std::string_view kKddcup =
    "duration,protocol_type,service,flag,src_bytes,dst_bytes,land,wrong_fragment,urgent,hot,num_failed_logins,logged_in,num_compromised,"
    "root_shell,su_attempted,num_root,num_file_creations,num_shells,num_access_files,num_outbound_cmds,is_host_login,is_guest_login,count,"
    "srv_count,serror_rate,srv_serror_rate,rerror_rate,srv_rerror_rate,same_srv_rate,diff_srv_rate,srv_diff_host_rate,dst_host_count,"
    "dst_host_srv_count,dst_host_same_srv_rate,dst_host_diff_srv_rate,dst_host_same_src_port_rate,dst_host_srv_diff_host_rate,"
    "dst_host_serror_rate,dst_host_srv_serror_rate,dst_host_rerror_rate,dst_host_srv_rerror_rate,labels";

// Faces of 64 x 64 pixels, one a column of the matrix and each of them lying on its side; ten of each person. Numbers
// are those of scikit-learn, float32 from 0 to 1.
void olivetti_table(std::string_view file, std::string_view, const std::function<void(std::string_view)>& write) {
  constexpr std::int64_t kSide = 64, kPixels = kSide * kSide, kFacesOfOne = 10;
  const ByteMatrix faces = byte_matrix_of(file, "faces", "olivettifaces.mat");
  require(faces.rows == kPixels && faces.columns > 0, ErrorCode::kDatasetCorrupt,
          "olivettifaces.mat: faces of {} pixels, must have {}", faces.rows, kPixels);
  const auto byte_at = [&](std::int64_t i) {
    return static_cast<unsigned char>(faces.values[static_cast<std::size_t>(i)]);
  };
  unsigned char least = 255, most = 0;
  for (std::int64_t i = 0; i < faces.rows * faces.columns; ++i)
    least = std::min(least, byte_at(i)), most = std::max(most, byte_at(i));
  require(most > least, ErrorCode::kDatasetCorrupt, "olivettifaces.mat: all pixels are {}", least);
  const auto range = static_cast<float>(most - least);
  std::string line;
  for (std::int64_t p = 0; p < kPixels; ++p) line += fmt::format("pixel_{},", p);
  write(line + "target\n");
  for (std::int64_t face = 0; face < faces.columns; ++face) {
    line.clear();
    for (std::int64_t p = 0; p < kPixels; ++p) {
      const std::int64_t turned = p % kSide * kSide + p / kSide;
      const float value = static_cast<float>(byte_at(face * kPixels + turned) - least) / range;
      line += fmt::format("{},", static_cast<double>(value));   // all digits, so that it is exact in float32
    }
    write(line + fmt::format("{}\n", face / kFacesOfOne));
  }
}

using Write = std::function<void(std::string_view)>;

// One archive, three tables: fetch_20newsgroups() has the training set by default.
constexpr SklearnSet newsgroups(std::string_view name,
                                void (*make)(std::string_view file, std::string_view, const Write& write)) {
  return {.name = name,
          .address = "/files/5975967",
          .file = "20news-bydate.tar.gz",
          .sha256 = "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
          .member = "",
          .header = "",
          .make = make};
}

constexpr std::array kSets{
    newsgroups("20newsgroups", [](std::string_view file, std::string_view,
                                  const Write& write) { newsgroups_table(file, "train", write); }),
    newsgroups("20newsgroups_all", [](std::string_view file, std::string_view,
                                      const Write& write) { newsgroups_table(file, "all", write); }),
    newsgroups("20newsgroups_test", [](std::string_view file, std::string_view,
                                       const Write& write) { newsgroups_table(file, "test", write); }),
    SklearnSet{.name = "california_housing",
               .address = "/files/5976036",
               .file = "cal_housing.tgz",
               .sha256 = "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
               .member = "CaliforniaHousing/cal_housing.data",
               .header = "MedInc,HouseAge,AveRooms,AveBedrms,Population,AveOccup,Latitude,Longitude,MedHouseVal",
               .rewrite = california_row},
    SklearnSet{.name = "covtype",
               .address = "/files/5976039",
               .file = "covtype.data.gz",
               .sha256 = "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
               .member = "",
               .header = kCovtype},
    SklearnSet{.name = "kddcup99",   // percent10, as fetch_kddcup99() has it by default
               .address = "/files/5976042",
               .file = "kddcup99_10_data",
               .sha256 = "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
               .member = "",
               .header = kKddcup},
    SklearnSet{.name = "kddcup99_full",
               .address = "/files/5976045",
               .file = "kddcup99_data",
               .sha256 = "3b6c942aa0356c0ca35b7b595a26c89d343652c9db428893e7494f837b274292",
               .member = "",
               .header = kKddcup},
    SklearnSet{.name = "lfw_people",
               .address = "/files/5976015",
               .file = "lfw-funneled.tgz",
               .sha256 = "b47c8422c8cded889dc5a13418c4bc2abbda121092b3533a83306f90d900100a",
               .member = "",
               .header = "",
               .make = faces_table,
               .check = check_faces_options},
    SklearnSet{.name = "olivetti_faces",
               .address = "/files/5976027",
               .file = "olivettifaces.mat",
               .sha256 = "b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
               .member = "",
               .header = "",
               .make = olivetti_table},
};

// What else scikit-learn fetches, and why it is not here. docs/jobs.md has the same list.
struct AbsentSet {
  std::string_view name, reason;
};
constexpr std::array kAbsent{
    AbsentSet{
        "20newsgroups_vectorized",
        "it is counts of the words of sklearn://20newsgroups: take that, and CountVectorizer before the estimator"},
    AbsentSet{"lfw_pairs", "its rows are two pictures each: upload their pixels, as npz, or take sklearn://lfw_people"},
    AbsentSet{"species_distributions",
              "it is 14 maps and lists of points, no table: upload the maps' values at the points"},
    AbsentSet{"openml",
              "OpenML has a form of its own: {\"openml\": {\"name\", \"version\"}} or {\"openml\": {\"id\"}}"},
};

class Csv {
 public:
  Csv(const std::filesystem::path& path, const SklearnSet& set, std::int64_t most_bytes)
      : path_(path), out_(path, std::ios::binary), set_(set), most_bytes_(most_bytes) {
    if (!set.header.empty()) out_ << set.header << '\n';
  }
  void write(std::string_view text) {
    written_ += static_cast<std::int64_t>(text.size());
    require(written_ <= most_bytes_, ErrorCode::kInvalidValue, "{}: inflates to more than the limit of {} bytes",
            set_.file, most_bytes_);
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void finish() {
    out_.close();
    require(out_.good(), ErrorCode::kInternal, "{}: cannot be written", engine::shown(path_));
  }

 private:
  const std::filesystem::path& path_;
  std::ofstream out_;
  const SklearnSet& set_;
  const std::int64_t most_bytes_;
  std::int64_t written_ = 0;
};

void unpack(const SklearnSet& set, std::string_view file, const UploadDecoder::Sink& sink) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  UploadDecoder decoder{std::string(set.file)};
  for (; !file.empty(); file.remove_prefix(std::min(kPiece, file.size()))) decoder.feed(file.substr(0, kPiece), sink);
  decoder.finish(sink);
}

void write_member(const SklearnSet& set, std::string_view file, Csv& csv) {
  constexpr std::size_t kMostText = std::size_t{64} << 20;   // those that come in archives are small
  std::string member;
  bool is_there = false;
  const auto wants = [&](std::string_view name) { return !is_there && (is_there = name == set.member); };
  const auto content = [&](std::string_view piece) {
    require(member.size() + piece.size() <= kMostText, ErrorCode::kDatasetCorrupt, "{}: {} has more than {} bytes",
            set.file, set.member, kMostText);
    member += piece;
  };
  read_tar(set.file, file, {.wants = wants, .content = content});
  require(is_there, ErrorCode::kDatasetCorrupt, "{}: it has no file {}", set.file, set.member);
  std::string_view text = member;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) csv.write(set.rewrite(line) + "\n");
  }
}

}   // namespace

bool is_sklearn_url(std::string_view url) {
  return url.starts_with(kScheme);
}

std::vector<std::string_view> sklearn_set_names() {
  std::vector<std::string_view> names;
  for (const SklearnSet& set : kSets) names.push_back(set.name);
  names.insert(names.end(), {"rcv1/TOPIC", "rcv1_test/TOPIC", "rcv1_train/TOPIC"});   // rcv1.h
  return names;
}

SklearnSet sklearn_set(const std::string& url) {
  const std::string_view name = std::string_view(url).substr(std::min(url.size(), kScheme.size()));
  const std::size_t slash = std::min(name.find('/'), name.size());
  const auto found = std::ranges::find_if(
      kSets, [&](const SklearnSet& set) { return set.name == (set.check ? name.substr(0, slash) : name); });
  if (found != kSets.end()) {
    SklearnSet set = *found;
    if (slash == name.size()) return set;
    set.options = name.substr(slash + 1);
    try {
      set.check(set.options);
    } catch (const schema::Error& error) {
      throw schema::Error(error.code, error.message, "dataset.url.url");
    }
    return set;
  }
  const auto absent = std::ranges::find(kAbsent, name, &AbsentSet::name);
  if (absent != kAbsent.end())
    throw schema::Error(
        ErrorCode::kInvalidValue,
        fmt::format("'{}' is not fetched: {}; there are {}", url, absent->reason, fmt::join(sklearn_set_names(), ", ")),
        "dataset.url.url");
  const std::vector<std::string_view> names = sklearn_set_names();
  const std::string_view nearest = schema::nearest_name(name, names);
  throw schema::Error(
      ErrorCode::kInvalidValue,
      fmt::format("'{}': there is no set '{}'{}; there are {}", url, name,
                  nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest), fmt::join(names, ", ")),
      "dataset.url.url");
}

void write_sklearn_table(const SklearnSet& set, std::string_view file, const std::filesystem::path& path,
                         std::int64_t most_bytes) {
  Csv csv(path, set, most_bytes);
  if (set.make) set.make(file, set.options, [&](std::string_view piece) { csv.write(piece); });
  else if (set.member.empty()) unpack(set, file, [&](std::string_view piece) { csv.write(piece); });
  else write_member(set, file, csv);
  csv.finish();
}

}   // namespace kedge::server
