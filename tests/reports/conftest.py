"""A headless Chromium for the tests of the page; without Chromium, its driver or selenium they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report_demo import write_demo, write_studies

from isoglot.reports.options import ReportOptions
from isoglot.reports.render import report

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    write_studies(root / "runs", weam_1="weam", weam_2="weam")
    options = ReportOptions(title="Demo", baseline="mlm")
    return report([write_demo(root / "runs")], out=root / "report.html", options=options)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver_path = shutil.which("chromedriver")
    if binary is None or driver_path is None:
        pytest.skip("no chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    yield driver
    driver.quit()


@pytest.fixture
def show(chromium: Any) -> Callable[..., Any]:
    """Open a page in a window of a given width; touch screens below 600."""

    def opened(page: Path, *, width: int = 1280) -> Any:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chromium.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": width < 600})
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        chromium.get_log("browser")
        chromium.get(page.as_uri())
        return chromium

    return opened
