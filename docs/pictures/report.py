"""Draws docs/pictures/report.png: a part of the report on breast cancer records, as a browser shows it.

Needs playwright and a chromium that is installed: ``python docs/pictures/report.py``.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, report

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
told = report(SEPClassifier().fit(X, y), X_test, y_test, title="Breast cancer")


def clip(page):
    """Return the place of the section with the slider, without the list below it."""
    box = page.locator("section#threshold").bounding_box()
    return {"x": 0, "y": box["y"] + page.evaluate("scrollY"), "width": 1120, "height": 738}


with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
    page_file = Path(folder) / "report.html"
    told.write(page_file)
    browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1120, "height": 860}, device_scale_factor=1.25, color_scheme="light")
    page.goto(page_file.as_uri())
    page.get_by_role("button", name="0.99", exact=True).click()
    page.wait_for_timeout(500)  # the page moves smoothly
    page.screenshot(path=Path(__file__).with_name("report.png"), full_page=True, clip=clip(page))
    browser.close()
