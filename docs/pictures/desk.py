"""Draws docs/pictures/desk*.png: pages of a review desk on breast cancer records, as a browser shows them.

Needs playwright and a chromium that is installed: ``python docs/pictures/desk.py``.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier, save

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]


def opened(folder: Path) -> tuple[subprocess.Popen, str]:
    """Open a desk; return its process, and the address of its person."""
    save(SEPClassifier().fit(data.data[::2], y[::2]), folder / "model.sepc")
    new = data.data[1::2]
    new.insert(0, "patient", [f"P-{number:04d}" for number in range(len(new))])
    new.to_csv(folder / "new.csv", index=False)
    options = ["--person", "ada", "--audit", "0.1", "--port", "0", "--no-browser", "--json"]
    command = [sys.executable, "-m", "sepc", "desk", folder / "model.sepc", folder / "new.csv", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = ""
    while not said.rstrip().endswith("}\n}"):
        said += process.stdout.readline()
    return process, json.loads(said)["people"]["ada"]


def decide(page, n):
    """Decide some records by the keyboard, the first label of those that are blind."""
    page.keyboard.press("Enter")
    for _ in range(n):
        page.wait_for_selector("h1:has-text('Record')")
        page.keyboard.press("a" if page.get_by_role("button", name="Accept").count() else "1")
        page.wait_for_load_state("networkidle")


with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
    process, url = opened(Path(folder))
    browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1180, "height": 900}, device_scale_factor=1.25, color_scheme="light")
    page.goto(url)
    page.wait_for_selector("h1")
    page.wait_for_load_state("networkidle")
    decide(page, 12)
    here = Path(__file__).parent
    page.goto(url.partition("?")[0])
    page.screenshot(path=here / "desk-queue.png", clip={"x": 0, "y": 0, "width": 1180, "height": 700})
    row = page.locator("tr", has_text="refused").first
    row.locator("a").first.click()
    page.wait_for_load_state("networkidle")
    page.screenshot(path=here / "desk.png")
    browser.close()
    process.send_signal(signal.SIGINT)
    process.wait()
