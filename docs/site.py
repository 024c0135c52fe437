"""Builds the documentation site: `python docs/site.py`.

Its pages are those of the repository, copied to `build/pages` at the same paths, so that a link holds in both. The site
needs no hooks and no plug-in of its own.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = "docs", "examples", "reports/example"
FILES = "reports/README.md", "benchmarks/results.md", "benchmarks/results.svg"
FETCHED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""")


def gather(target: Path) -> None:
    """Copies what the site shows to an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name in (*FILES, *(path.name for path in ROOT.glob("*.md"))):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


def fetches(site: Path) -> list[str]:
    """What pages fetch from elsewhere, each with its page."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    return [f"{path.relative_to(site)}: {tag}" for path, text in pages.items() for tag in FETCHED.findall(text)]


if __name__ == "__main__":
    gather(ROOT / "build" / "pages")
    command = [sys.executable, "-m", "properdocs", "build", "--strict", "--config-file", "mkdocs.yml", *sys.argv[1:]]
    built = subprocess.run(command, cwd=ROOT, check=False).returncode  # with --quiet, warnings would be no errors
    sys.exit(built or "\n".join(fetches(ROOT / "build" / "site")) or 0)
