"""Headless Chromium: what the tests of pages start, and what `noxfile.py` brings where none starts."""

import shutil
import sys
from contextlib import suppress

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""What Chromium is called on the PATH; without one of these, playwright's own is started."""
OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
QUIET = ("--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in OFF))


def started(playwright):
    """The browser. Raises playwright's `Error` where none starts."""
    from playwright.sync_api import Error

    for path in filter(None, map(shutil.which, NAMES)):
        with suppress(Error):  # Ubuntu's package only says that there is a snap
            return playwright.chromium.launch(executable_path=path, args=QUIET)
    return playwright.chromium.launch(args=QUIET)


def main():
    """Exits with a line where no browser starts."""
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        try:
            started(playwright).close()
        except sync_api.Error as error:
            sys.exit(error.message.splitlines()[0])


if __name__ == "__main__":
    main()
