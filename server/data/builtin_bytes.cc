// The files of builtin/, compiled into the program by the assembler: it costs no compile time, unlike an array in C++.
#include "server/data/builtin_bytes.h"

#define KEDGE_EMBED(symbol, file)                                                                       \
  asm(".pushsection .rodata\n"                                                                          \
      ".balign 16\n"                                                                                    \
      "kedge_builtin_" #symbol "_begin:\n"                                                              \
      ".incbin \"" KEDGE_BUILTIN_DIR "/" file "\"\n"                                                    \
      "kedge_builtin_" #symbol "_end:\n"                                                                \
      ".popsection\n");                                                                                 \
  extern "C" {                                                                                          \
  extern const char kedge_builtin_##symbol##_begin[] __attribute__((visibility("hidden")));             \
  extern const char kedge_builtin_##symbol##_end[] __attribute__((visibility("hidden")));               \
  }

KEDGE_EMBED(iris, "iris.csv")
KEDGE_EMBED(wine, "wine.csv")
KEDGE_EMBED(breast_cancer, "breast_cancer.csv")
KEDGE_EMBED(diabetes, "diabetes.csv")
KEDGE_EMBED(digits, "digits.csv.gz")
KEDGE_EMBED(images, "t10k-images-idx3-ubyte.gz")
KEDGE_EMBED(labels, "t10k-labels-idx1-ubyte.gz")

namespace kedge::server {
namespace {

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

}  // namespace

BuiltinBytes builtin_bytes() {
  return {.iris = between(kedge_builtin_iris_begin, kedge_builtin_iris_end),
          .wine = between(kedge_builtin_wine_begin, kedge_builtin_wine_end),
          .breast_cancer = between(kedge_builtin_breast_cancer_begin, kedge_builtin_breast_cancer_end),
          .diabetes = between(kedge_builtin_diabetes_begin, kedge_builtin_diabetes_end),
          .digits = between(kedge_builtin_digits_begin, kedge_builtin_digits_end),
          .mnist_images = between(kedge_builtin_images_begin, kedge_builtin_images_end),
          .mnist_labels = between(kedge_builtin_labels_begin, kedge_builtin_labels_end)};
}

}  // namespace kedge::server
