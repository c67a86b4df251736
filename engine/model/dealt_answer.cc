// Tiles of rows by rank, and the answers put together on the first.
#include "engine/model/dealt_answer.h"

#include <algorithm>
#include <utility>

#include "engine/comm/dealt_blocks.h"
#include "engine/estimators/dealt_lines.h"

namespace kedge::engine {
namespace {

void write(const ModelAnswer& answer, ByteWriter& out) {
  out.number(answer.n_rows), out.number(answer.n_cols);
  out.number(answer.is_vector), out.number(answer.is_float32), out.number(answer.is_whole);
  out.numbers(answer.numbers);
  for (const std::vector<std::string>* texts : {&answer.texts, &answer.columns}) {
    out.number<std::uint64_t>(texts->size());
    for (const std::string& text : *texts) out.text(text);
  }
}

ModelAnswer read(ByteReader& in) {
  ModelAnswer answer;
  answer.n_rows = in.number<std::int64_t>(), answer.n_cols = in.number<std::int64_t>();
  answer.is_vector = in.number<bool>(), answer.is_float32 = in.number<bool>(), answer.is_whole = in.number<bool>();
  answer.numbers = in.numbers<double>();
  for (std::vector<std::string>* texts : {&answer.texts, &answer.columns})
    for (auto count = in.number<std::uint64_t>(); count > 0; --count) texts->push_back(in.text());
  return answer;
}

}   // namespace

AskedRows own_asked_rows(std::int64_t n_rows, std::int64_t tile) {
  const Ranks* const ranks = ranks_of_job();
  const std::int64_t tiles = (n_rows + tile - 1) / tile;
  const Part own = ranks && tiles == 1 ? Part{0, ranks->is_first() ? 1 : 0} : own_part(ranks, tiles);
  return {.n_rows = n_rows, .begin = std::min(n_rows, own.begin * tile), .end = std::min(n_rows, own.end * tile)};
}

ModelAnswer dealt_answer(const Context& ctx, StoredModel& model, std::int64_t n_rows, std::int64_t tile,
                         std::string_view output, const RowsOf& rows) {
  Ranks* const ranks = ranks_of_job();
  const AskedRows asked = own_asked_rows(n_rows, tile);
  if (!ranks) return answer_in_tiles(ctx, model, asked, tile, output, rows);
  const PartedBytes shares = ranks->gather([&] {
    KeptLines lines(ctx);
    ModelAnswer answer;
    if (asked.end > asked.begin) answer = answer_in_tiles(lines.context(), model, asked, tile, output, rows);
    ByteWriter out;
    lines.write(out);
    write(answer, out);
    return out.take();
  });
  ModelAnswer all;
  for (int from = 0; from < shares.size() && ranks->is_first(); ++from) {
    ByteReader in(shares.part(from));
    tell_lines(ctx, in);
    append_answer(read(in), n_rows, all);
  }
  return all;
}

}   // namespace kedge::engine
