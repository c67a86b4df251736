"""What mkdocs asks of us: pages written from the programs in KEDGE_BIN, and links that lead out of docs/ turned into paths."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from generated import commands_page, estimators_page, settings_page  # noqa: E402
from kedge_server import BIN, Kedged  # noqa: E402


def said(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "120"}).stdout


def on_files(files, config):
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder)
        try:
            catalogue, info = server.call("GET", "/v1/estimators").json(), server.call("GET", "/v1/info").json()
        finally:
            server.stop()
    pages = {"estimators.md": estimators_page(catalogue["estimators"], info["scorers"]),
             "commands.md": commands_page(lambda *words: said(BIN / "kedge", "help", *words)),
             "settings.md": settings_page(said(BIN / "kedged", "--help"))}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """The site has docs/ alone: what a page says of another file of the project becomes its path."""
    folder = (pathlib.Path(config.docs_dir) / page.file.src_uri).parent

    def replaced(match):
        text, target = match.groups()
        file = (folder / target.split("#")[0]).resolve()
        if "://" in target or target.startswith("#") or not file.exists() or file.is_relative_to(config.docs_dir):
            return match.group(0)
        path = str(file.relative_to(ROOT))
        return f"`{path}`" if text in path else f"{text} (`{path}`)"
    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", replaced, markdown)
