"""Draws docs/progress.svg: the progress display of a real job on a server of its own, taken from a terminal of 84 columns. Needs pyte (PyPI)."""
import fcntl
import html
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios

import pyte

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from kedge_server import BIN, Kedged  # noqa: E402

COLUMNS, LINES, WANTED = 84, 30, "3 of 5 folds"
COMMAND = "kedge run examples/mnist_10k_forest.json"


def screens(url):
    """The lines on the screen after each piece of output."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    child = subprocess.Popen([BIN / "kedge", *COMMAND.split()[1:]], stdin=slave, stdout=slave, stderr=slave, cwd=ROOT,
                             env={**os.environ, "KEDGE_URL": url, "TERM": "xterm-256color"})
    os.close(slave)
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:   # the other end is closed
            break
        if not piece:
            break
        stream.feed(piece)
        yield [line.rstrip() for line in screen.display]
    child.wait()


def picture(lines):
    height = 22 * (len(lines) + 2)
    rows = [f'<text x="16" y="{30 + 22 * i}" xml:space="preserve">{html.escape(line)}</text>' for i, line in enumerate(lines)]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * 9 + 32} {height}" role="img" aria-label="The progress display of kedge run">',
                      f'<rect width="{COLUMNS * 9 + 32}" height="{height}" rx="8" fill="#1e2430"/>',
                      '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="15" fill="#e6e6e6">', *rows, "</g>", "</svg>", ""])


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder)
        try:
            shown = [lines for lines in screens(server.url) if any(WANTED in line for line in lines)]
        finally:
            server.stop()
    if not shown:
        raise SystemExit(f"the display never said '{WANTED}'")
    lines = shown[len(shown) // 2]
    while not lines[-1]:
        lines = lines[:-1]
    (ROOT / "docs" / "progress.svg").write_text(picture(["$ " + COMMAND, *lines]))


if __name__ == "__main__":
    main()
