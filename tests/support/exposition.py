"""Reads Prometheus' text format strictly, and says what is wrong with it. Standard library only."""
import re

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')


class Family:
    def __init__(self, name):
        self.name, self.help, self.type, self.samples = name, None, None, []   # samples: (name, labels, value)


def labels_of(text, line):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match, f"labels cannot be read: {line}"
        assert match[1] not in labels, f"the label {match[1]} comes twice: {line}"
        labels[match[1]] = match[2]
        at = match.end()
    return labels


def parse(text):
    """Families by name. AssertionError names the line that is wrong."""
    assert text.endswith("\n"), "the last line does not end"
    families, current = {}, None
    for line in text.splitlines():
        if line.startswith("# "):
            _, kind, name, rest = line.split(" ", 3)
            if kind == "HELP":
                assert name not in families, f"the family {name} comes twice"
                current = families[name] = Family(name)
                current.help = rest
            else:
                assert kind == "TYPE" and current and current.name == name and current.type is None, line
                assert rest in ("counter", "gauge", "histogram"), line
                current.type = rest
            continue
        match = SAMPLE.fullmatch(line)
        assert match, f"not a sample: {line}"
        suffixes = ("_bucket", "_sum", "_count") if current.type == "histogram" else ("",)
        assert any(match[1] == current.name + s for s in suffixes), f"not in its family: {line}"
        current.samples.append((match[1], labels_of(match[2] or "", line), float(match[3])))
    return families


def check_histogram(family):
    series = {}
    for name, labels, value in family.samples:
        key = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        entry = series.setdefault(key, {"buckets": [], "_sum": None, "_count": None})
        if name.endswith("_bucket"):
            entry["buckets"].append((float(labels["le"]), value))
        else:
            entry[name[len(family.name):]] = value
    for key, entry in series.items():
        bounds, counts = zip(*entry["buckets"])
        assert list(bounds) == sorted(set(bounds)) and bounds[-1] == float("inf"), (family.name, key)
        assert list(counts) == sorted(counts) and counts[-1] == entry["_count"] and entry["_sum"] is not None, (family.name, key)


def check(text):
    """parse(), and the rules of naming: https://prometheus.io/docs/practices/naming/."""
    families = parse(text)
    for family in families.values():
        assert family.type and family.help.endswith("."), family.name
        assert (family.type == "counter") == family.name.endswith("_total"), f"{family.name} is a {family.type}"
        assert not re.search(r"_(ms|millis|microseconds|kb|mb|percent)(_|$)", family.name), f"{family.name} is not in base units"
        seen = [(name, tuple(sorted(labels.items()))) for name, labels, _ in family.samples]
        assert len(seen) == len(set(seen)), f"{family.name} has a series twice"
        if family.type == "histogram":
            check_histogram(family)
        if family.type == "counter":
            assert all(value >= 0 for _, _, value in family.samples), family.name
    return families


def value(families, name, **labels):
    """The sum of the samples that have these labels."""
    return sum(v for n, l, v in families[name].samples if n == name and all(l.get(k) == want for k, want in labels.items()))
