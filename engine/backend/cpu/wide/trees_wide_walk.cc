// AVX-512 code that walks a block of rows through a tree, all of them level by level, so that no step waits
// for the one before.
#include "engine/backend/cpu/wide/trees_wide_walk.h"

#if defined(__x86_64__)
#include <bit>

#include "engine/backend/cpu/wide/trees_wide_target.h"

namespace kedge::engine {
namespace {

struct SixteenNodes {
  __m512i right, feature, limit;
};

// The two halves of 16 nodes of 8 bytes.
struct Halves {
  __m512i low, high;
};

KEDGE_WIDE_INLINE Halves gather_halves(const void* nodes, __m512i at) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i first = _mm512_i32gather_epi64(_mm512_castsi512_si256(at), nodes, 8);
  const __m512i last = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(at, 1), nodes, 8);
  return {_mm512_permutex2var_epi32(first, even, last),
          _mm512_permutex2var_epi32(first, _mm512_or_si512(even, _mm512_set1_epi32(1)), last)};
}

KEDGE_WIDE_INLINE SixteenNodes gather(const CodeNode* nodes, __m512i at) {
  static_assert(sizeof(CodeNode) == 8);
  const Halves half = gather_halves(nodes, at);
  return {half.low, _mm512_and_si512(half.high, _mm512_set1_epi32(0xffffff)), _mm512_srli_epi32(half.high, 24)};
}

struct SixteenCodedNodes {
  __m512i left, column, cut;
};

KEDGE_WIDE_INLINE SixteenCodedNodes gather(const CodedTrees::Node* nodes, __m512i at) {
  static_assert(sizeof(CodedTrees::Node) == 8);
  const Halves half = gather_halves(nodes, at);
  return {half.low, _mm512_and_si512(half.high, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(half.high, 16)};
}

}  // namespace

KEDGE_WIDE void find_leaves_wide(const CodeNode* nodes, const std::uint8_t* codes, std::int64_t stride,
                                 std::int64_t n, ReachedLeaves& leaves) {
  const __m512i row_bytes = _mm512_set1_epi32(static_cast<int>(stride));
  for (std::int64_t i = 0; i < n; ++i) leaves.walking[i] = static_cast<std::uint32_t>(i), leaves.at[i] = 0;
  for (std::int64_t left = n, reached = 0; left > 0;) {
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < left; i += 16) {
      const auto valid =
          static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<unsigned>(left - i > 16 ? 16 : left - i)));
      const __m512i row = _mm512_maskz_loadu_epi32(valid, leaves.walking + i),
                    at = _mm512_maskz_loadu_epi32(valid, leaves.at + i);
      const SixteenNodes node = gather(nodes, at);
      const __mmask16 inner = _mm512_mask_test_epi32_mask(valid, node.limit, node.limit),
                      leaf = _kandn_mask16(inner, valid);
      const __m512i from = _mm512_add_epi32(_mm512_mullo_epi32(row, row_bytes), node.feature);
      const __m512i read = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), inner, from, codes, 1);
      const __mmask16 goes_left =
          _mm512_cmplt_epu32_mask(_mm512_and_si512(read, _mm512_set1_epi32(255)), node.limit);
      const __m512i next = _mm512_mask_add_epi32(node.right, goes_left, at, _mm512_set1_epi32(1));
      _mm512_storeu_si512(leaves.walking + kept, _mm512_maskz_compress_epi32(inner, row));
      _mm512_storeu_si512(leaves.at + kept, _mm512_maskz_compress_epi32(inner, next));
      kept += std::popcount(static_cast<unsigned>(inner));
      _mm512_storeu_si512(leaves.row + reached, _mm512_maskz_compress_epi32(leaf, row));
      _mm512_storeu_si512(leaves.node + reached, _mm512_maskz_compress_epi32(leaf, at));
      _mm512_storeu_si512(leaves.feature + reached, _mm512_maskz_compress_epi32(leaf, node.feature));
      reached += std::popcount(static_cast<unsigned>(leaf));
    }
    left = kept;
  }
}

KEDGE_WIDE void find_coded_leaves_wide(const CodedTrees& trees, std::int64_t tree, const CodedTrees::Code* codes,
                                       std::int64_t n, ReachedLeaves& leaves) {
  const CodedTrees::Node* const nodes = trees.nodes();
  const __m512i row_codes = _mm512_set1_epi32(static_cast<int>(trees.n_cols())), no_column = row_codes,
                low_half = _mm512_set1_epi32(0xffff);
  for (std::int64_t i = 0; i < n; ++i)
    leaves.walking[i] = static_cast<std::uint32_t>(i), leaves.at[i] = trees.root(tree);
  for (std::int64_t left = n, reached = 0; left > 0;) {
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < left; i += 16) {
      const auto valid =
          static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<unsigned>(left - i > 16 ? 16 : left - i)));
      const __m512i row = _mm512_maskz_loadu_epi32(valid, leaves.walking + i),
                    at = _mm512_maskz_loadu_epi32(valid, leaves.at + i);
      const SixteenCodedNodes node = gather(nodes, at);
      const __mmask16 inner = _mm512_mask_cmpneq_epu32_mask(valid, node.column, no_column),
                      leaf = _kandn_mask16(inner, valid);
      const __m512i from = _mm512_add_epi32(_mm512_mullo_epi32(row, row_codes), node.column);
      const __m512i read = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), inner, from, codes, 2);
      const __mmask16 goes_right = _mm512_cmpgt_epu32_mask(_mm512_and_si512(read, low_half), node.cut);
      const __m512i next = _mm512_mask_add_epi32(node.left, goes_right, node.left, _mm512_set1_epi32(1));
      _mm512_storeu_si512(leaves.walking + kept, _mm512_maskz_compress_epi32(inner, row));
      _mm512_storeu_si512(leaves.at + kept, _mm512_maskz_compress_epi32(inner, next));
      kept += std::popcount(static_cast<unsigned>(inner));
      _mm512_storeu_si512(leaves.row + reached, _mm512_maskz_compress_epi32(leaf, row));
      _mm512_storeu_si512(leaves.node + reached, _mm512_maskz_compress_epi32(leaf, at));
      _mm512_storeu_si512(leaves.feature + reached, _mm512_maskz_compress_epi32(leaf, node.cut));
      reached += std::popcount(static_cast<unsigned>(leaf));
    }
    left = kept;
  }
}

}  // namespace kedge::engine

#else

namespace kedge::engine {

void find_leaves_wide(const CodeNode*, const std::uint8_t*, std::int64_t, std::int64_t, ReachedLeaves&) {}
void find_coded_leaves_wide(const CodedTrees&, std::int64_t, const CodedTrees::Code*, std::int64_t, ReachedLeaves&) {}

}  // namespace kedge::engine

#endif
