"""A later version of wsgiauth, which has one more migration."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LATER = "0099_more"
MIGRATION = """
def up(migrator, db):
    for table in ("wsgiauth_user", "wsgiauth_session", "wsgiauth_totp"):
        column = "ADD COLUMN more VARCHAR(9) NOT NULL DEFAULT ''"
        db.execute_sql(f"ALTER TABLE {table} {column}")
    db.execute_sql("CREATE TABLE wsgiauth_more (id BIGINT PRIMARY KEY)")
"""


def later_version(folder):
    """Make the package in a folder, and return that."""
    shutil.copytree(ROOT / "wsgiauth", folder / "wsgiauth")
    (folder / f"wsgiauth/storage/migrations/{LATER}.py").write_text(MIGRATION, encoding="utf-8")
    return folder


def migrate(url, package):
    """Run `migrate` of the package in a folder, and return what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "wsgiauth", "migrate"],
        cwd=package,
        env={"PATH": os.environ["PATH"], "DATABASE_URL": url, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
