"""Chromium for tests of the page /ui/, by playwright of PyPI (./run.sh ui installs both)."""
import os
import pathlib
import re
import shutil
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = ROOT / "build" / "ui" / "bin" / "python"   # ./run.sh ui makes it
try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    if VENV.exists() and os.environ.get("KEDGE_UI_PYTHON") != str(VENV):
        os.execve(VENV, [str(VENV), *sys.argv], {**os.environ, "KEDGE_UI_PYTHON": str(VENV)})
    expect = sync_playwright = None
try:
    from axe_playwright_python.sync_playwright import Axe
except ImportError:
    Axe = None

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_open = {}


def open_browser():
    """Skips the module's tests where there is no browser."""
    if not sync_playwright:
        raise unittest.SkipTest("playwright is not installed (./run.sh ui does that)")
    if not CHROMIUM:
        raise unittest.SkipTest("chromium is not installed (./run.sh ui does that)")
    _open["playwright"] = sync_playwright().start()
    _open["browser"] = _open["playwright"].chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def close_browser():
    _open["browser"].close()
    _open["playwright"].stop()


class Page:
    """A tab, with all that a page must not do written down: errors, requests to other hosts, breaches of the policy."""

    def __init__(self, url, width=1400, theme="light"):
        self.url, self.faults = url, []
        self.context = _open["browser"].new_context(viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True)
        self.context.add_init_script("document.addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.violatedDirective + ' ' + e.blockedURI))")
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(30_000)
        self.tab.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.tab.on("console", lambda message: message.type == "error" and not re.search("Failed to load resource|net::", message.text) and self.faults.append(f"console: {message.text}"))
        self.tab.on("request", lambda request: self.note(request.url))

    def note(self, address):
        if not address.startswith((self.url, "data:", "blob:")):
            self.faults.append(f"a request to {address}")

    def open(self, address, until="main h1"):
        self.tab.goto("about:blank")
        self.tab.goto(f"{self.url}/ui/{address}")
        self.tab.wait_for_selector(until)
        return self.tab

    def settle(self):
        """All that the view loads is there."""
        expect(self.tab.locator(".loading")).to_have_count(0, timeout=30_000)
        self.tab.wait_for_timeout(150)   # what measures itself is drawn again

    def close(self):
        self.context.close()


class Ui(unittest.TestCase):
    """Pages that are closed after each test, which fails where one of them has a fault."""
    url = ""   # of the server that is looked at; set by setUpModule

    def setUp(self):
        self.pages = []

    def page(self, *arguments, **named):
        page = Page(*(arguments or (self.url,)), **named)
        self.pages.append(page)
        return page

    def tearDown(self):
        faults = [fault for page in self.pages for fault in page.faults]
        for page in self.pages:
            page.close()
        self.assertEqual(faults, [])
