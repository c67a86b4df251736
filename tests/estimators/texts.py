"""Compares the vectorisers with scikit-learn: vocabulary, indptr, indices and data of three corpora.

    texts.py                  live: needs scikit-learn
    texts.py --golden         against golden/texts.json; needs Python alone
    texts.py --write-golden   record what scikit-learn finds
Options: --probe PATH, --device NAME.
"""
import argparse
import json
import pathlib
import sys

import differential

GOLDEN = pathlib.Path(__file__).parent / "golden" / "texts.json"
TOLERANCE = {"float64": 4e-16, "float32": 3e-7}   # of weights: logarithms may differ in their last digit

ASCII = [
    "The quick brown fox jumps over the lazy dog", "the lazy dog sleeps; the fox does not", "A fox, a dog & a_b 42 x1 1st", "don't e.g. U.S.A. co-op",
    "the the the the", "  tabs\tand\nnewlines \r\n\r\n and   spaces ", "I a b c", "Numbers: 3.14 2026-11-26 1e9 0x1F", "again the quick quick fox",
    "Is this it? No! Yes... maybe (perhaps) [or] {not}", "fox dog fox dog fox", "What has it got in its pockets", "under_score __init__ _x _", "zz top",
]
UNICODE = [
    "Übergrößen im CAFÉ: naïve façade", "cafe\u0301 e\u0301te\u0301 \u00e9t\u00e9", "İstanbul ISPARTA ıstanbul", "ΣΊΣΥΦΟΣ ΟΔΥΣΣΕΥΣ Σ ΑΣ Σ. ΑΣ'Α", "Привет, МИР! ёлка",
    "東京 は 大きい 都市 です", "हिन्दी भाषा है", "naïve\u00a0non\u2003breaking\u3000spaces", "ﬁne ﬂow ½ ² ③ Ⅷ ⅷ x²", "ǅemal Ǆ ǆ", "emoji 😀 family 👨‍👩‍👧 flag 🇩🇪",
    "o\u0308ffnen öffnen ÖFFNEN", "שלום עולם مرحبا ١٢٣", "ﷺ ㎏ ％ ｆｕｌｌ ｗｉｄｔｈ", "STRASSE straße ẞ", "\u1e9b\u0323 \u2126 \u212b \ufb03", "a\u00adb soft-hyphen",
]
EMPTY = ["", "the", "word", "   ", "a", "word again", "...", "again", "", "x y z", "the of and", "\n"]
CORPORA = {"ascii": ASCII, "unicode": UNICODE, "empty": EMPTY}

WORDS = [{}, {"ngram_range": [1, 2]}, {"ngram_range": [2, 3]}, {"lowercase": False}, {"strip_accents": "unicode"}, {"strip_accents": "ascii"}, {"stop_words": "english"},
         {"stop_words": ["the", "fox", "a", "été"], "ngram_range": [1, 3]}, {"token_pattern": r"(?u)\b\w+\b"}, {"token_pattern": r"\w{3,}"}, {"token_pattern": r"[a-zA-Z]+"},
         {"token_pattern": r"\b[a-z]+\b"}, {"token_pattern": r"\S+"}, {"token_pattern": r"(?u)\b[^\W\d_]+\b"}, {"token_pattern": r"\b\w(\w+)\b"}, {"token_pattern": r"\bf\w*"},
         {"token_pattern": r"[^\s,;.]+"}]
CHARACTERS = [{"analyzer": analyzer, "ngram_range": ngrams, **more} for analyzer in ("char", "char_wb") for ngrams in ([1, 1], [1, 3], [2, 4], [3, 3], [6, 7])
              for more in ({}, {"strip_accents": "unicode", "lowercase": False})]
LIMITS = [{"min_df": 2}, {"max_df": 2}, {"min_df": 0.2, "max_df": 0.6}, {"binary": True}, {"ngram_range": [1, 2], "min_df": 2, "binary": True}]
GIVEN = [{"vocabulary": ["fox", "the", "café", "quick fox", "word"], "ngram_range": [1, 2]}, {"vocabulary": {"dog": 1, "fox": 0, "the": 2}}]
WEIGHTS = [{}, {"sublinear_tf": True}, {"norm": "l1"}, {"norm": None}, {"use_idf": False}, {"smooth_idf": False}, {"ngram_range": [1, 2], "sublinear_tf": True, "min_df": 2},
           {"analyzer": "char_wb", "ngram_range": [2, 3]}, {"binary": True, "norm": "l1", "use_idf": False}]
HASHES = [{"n_features": n, **more} for n in (64, 1 << 20) for more in ({}, {"alternate_sign": False}, {"norm": None}, {"binary": True, "norm": "l1"}, {"ngram_range": [1, 2]},
                                                                         {"analyzer": "char", "ngram_range": [2, 3]})]
CASES = [(corpus, "CountVectorizer", params) for corpus in CORPORA for params in WORDS + CHARACTERS + LIMITS + GIVEN]
CASES += [("ascii", "CountVectorizer", {"max_features": 1, "min_df": 2})]   # the only one of its frequency
CASES += [(corpus, "TfidfVectorizer", params) for corpus in CORPORA for params in WEIGHTS]
CASES += [(corpus, "HashingVectorizer", params) for corpus in CORPORA for params in HASHES]


def key(case):
    corpus, estimator, params = case
    return f"{corpus} {estimator} {json.dumps(params)}"


def documents(corpus):
    """Rows to fit, some of them twice, and rows to apply the fitted estimator to."""
    texts = CORPORA[corpus]
    return [t for i, t in enumerate(texts) if i % 4 != 3] + texts[1:3], texts + ["an unknown word fox"]


class ScikitLearn:
    def __init__(self):
        import sklearn
        from sklearn.feature_extraction import text
        self.module, self.version = text, sklearn.__version__

    def record(self, case):
        corpus, name, params = case
        params = {k: tuple(v) if k == "ngram_range" else v for k, v in params.items()}
        fit, test = documents(corpus)
        vectorizer = getattr(self.module, name)(**params)
        try:
            made = vectorizer.fit(fit).transform(test)
        except ValueError as error:
            return {"error": str(error)}
        made.sort_indices()
        record = {"columns": made.shape[1], "indptr": made.indptr.tolist(), "indices": made.indices.tolist(), "data": made.data.tolist()}
        if name != "HashingVectorizer":
            record["vocabulary"] = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.get)
        if hasattr(vectorizer, "idf_"):
            record["idf"] = vectorizer.idf_.tolist()
        return record


def spec_of(case, probe, dtype, want):
    corpus, name, params = case
    fit, test = documents(corpus)
    categories = sorted(set(fit + test))
    place = {text: float(i) for i, text in enumerate(categories)}
    return {"steps": [{"estimator": name, "params": params}], "dtype": dtype, "device": probe.device, "n_cols": 1, "features": [{"name": "text", "categories": categories}],
            "X": probe.file("X", [place[t] for t in fit]), "test": probe.file("test", [place[t] for t in test]), "want": want}


def asked(probe, spec):
    probe.process.stdin.write(json.dumps(spec) + "\n")
    probe.process.stdin.flush()
    return json.loads(probe.process.stdout.readline())


def apart(expected, actual, dtype):
    if len(expected) != len(actual):
        return True
    return any(abs(e - a) > TOLERANCE[dtype] * max(1.0, abs(e)) for e, a in zip(expected, actual))


def problem_of(case, dtype, record, answer):
    if "error" in record or "error" in answer:
        return None if "error" in record and "error" in answer else f"{answer.get('error', 'not refused')}, expected {record.get('error', 'rows')}"
    rows = answer["sparse_rows"]
    if case[1] != "HashingVectorizer":
        terms = sorted(answer["attributes"]["vocabulary_"], key=answer["attributes"]["vocabulary_"].get)
        if terms != record["vocabulary"]:
            return f"other terms: {sorted(set(terms) ^ set(record['vocabulary']))[:5]}"
    for part in ("columns", "indptr", "indices"):
        if rows[part] != record[part]:
            return f"{part} differ"
    if "idf" in record and apart(record["idf"], answer["attributes"]["idf_"], dtype):
        return "idf_ differs"
    exact = case[1] == "CountVectorizer"
    if rows["data"] != record["data"] if exact else apart(record["data"], rows["data"], dtype):
        return "data differ"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("--write-golden", action="store_true")
    parser.add_argument("--probe", default=differential.PROBE)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    if options.golden:
        records = json.loads(GOLDEN.read_text())["cases"]
    else:
        sk = ScikitLearn()
        records = {key(case): sk.record(case) for case in CASES}
    if options.write_golden:
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in records.items()]
        GOLDEN.write_text(f'{{"version": "{sk.version}", "cases": {{\n' + ",\n".join(lines) + "\n}}\n")
        return 0
    probe, failures = differential.Probe(options.probe, options.device), 0
    for case in CASES:
        for dtype in TOLERANCE:
            want = ["sparse_rows"] if case[1] == "HashingVectorizer" else ["attributes", "sparse_rows"]
            problem = problem_of(case, dtype, records[key(case)], asked(probe, spec_of(case, probe, dtype, want)))
            if problem:
                failures += 1
                print(f"FAIL {dtype} {key(case)}: {problem}")
    probe.close()
    print(f"{len(CASES)} cases of texts, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
