"""The documents as tests see them: pages with headings, links and fenced blocks."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
GENERATED = {"estimators.md", "commands.md", "settings.md"}   # written by docs/site/hooks.py when the site is built

FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
FILE_BEFORE = re.compile(r"`([\w./-]+\.(?:json|csv|toml))`:?$")   # the text before a block ends with the name of the file that the block is
NEEDS = re.compile(r"^# needs: (.+)$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


class Block:
    """A fenced block: its language, its lines, the file that the text before it names, and what it needs that a test has not."""

    def __init__(self, page, number, language, lines, before):
        self.page, self.number, self.language, self.text = page, number, language, "\n".join(lines)
        named = FILE_BEFORE.search(before)
        self.file = named.group(1) if named else None
        needs = NEEDS.match(lines[0]) if lines else None
        self.needs = needs.group(1) if needs else None

    def __str__(self):
        return f"{self.page}:{self.number}"


class Page:
    def __init__(self, path):
        self.path, self.name = path, str(path.relative_to(ROOT))
        self.text = path.read_text()
        self.blocks, prose, fence, before = [], [], None, ""
        for number, line in enumerate(self.text.splitlines(), 1):
            match = FENCE.match(line)
            if fence is None and match:
                fence = (number, match.group(2), [], match.group(1))
            elif fence is not None and match and not match.group(2):
                self.blocks.append(Block(self.name, fence[0], fence[1], fence[2], before))
                fence, before = None, ""
            elif fence is not None:
                fence[2].append(line.removeprefix(fence[3]))
            else:
                prose.append(line)
                before = line.strip() or before
        assert fence is None, f"{self.name}: a block is not closed"
        self.prose = "\n".join(prose)
        self.headings = [(len(m.group(1)), m.group(2).strip()) for m in re.finditer(r"^(#+) (.+)$", self.prose, re.M)]

    def links(self):
        return LINK.findall(re.sub(r"`[^`]*`", "", self.prose))

    def anchors(self):
        """As Python-Markdown's toc makes them."""
        return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for _, text in self.headings}

    def section(self, heading):
        """The text below a heading, up to the next of its level or above."""
        level, taken, fenced = None, [], False
        for line in self.text.splitlines():
            fenced ^= FENCE.match(line) is not None
            match = None if fenced else re.match(r"^(#+) (.+)$", line)
            if level is not None and match and len(match.group(1)) <= level:
                break
            if level is not None:
                taken.append(line)
            elif match and match.group(2).strip() == heading:
                level = len(match.group(1))
        assert level is not None, f"{self.name} has no heading '{heading}'"
        return "\n".join(taken)


def pages():
    """README and every page of docs/, in the order of their paths."""
    return [Page(ROOT / "README.md")] + [Page(path) for path in sorted(DOCS.rglob("*.md"))]
