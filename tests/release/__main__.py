"""Check a release, and print the command that publishes it: `make release VERSION=1.0.0`.

Only `dist` is written, and `artefacts`. The first argument is the Python that has the tools of
`tools.txt`, the second the version.
"""

import sys

from tests.release.archives import build_twice, try_everywhere
from tests.release.checks import problems
from tests.release.dist import ROOT, digest


def main(tools, version=""):
    """Print what is wrong, and return 1; or print how to publish, and return 0."""
    if not version:
        return refuse(["Name the version, as in `make release VERSION=1.0.0`."])
    if found := problems(ROOT, version):
        return refuse(found)
    print("Build the archives twice.", flush=True)
    archives, differences = build_twice(ROOT, tools)
    if failures := differences or try_everywhere(archives, version):
        return refuse(failures)
    paths = [str(path.relative_to(ROOT)) for path in archives]
    print("\nEverything is as it should be. SHA-256:")
    for path in archives:
        print(f"{digest(path)}  {path.relative_to(ROOT)}")
    print(f"\nThis publishes {version}:\n.venv/bin/twine upload {' '.join(paths)}")
    return 0


def refuse(sentences):
    print(*sentences, sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
