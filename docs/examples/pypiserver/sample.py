"""Make library 1.0 in the index, and library 1.1, to be uploaded, in the folder `dist`."""

import zipfile
from pathlib import Path

for folder, version in (("packages", "1.0"), ("dist", "1.1")):
    Path(folder).mkdir(exist_ok=True)
    info = f"library-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: library\nVersion: {version}\n"
    with zipfile.ZipFile(f"{folder}/library-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("library.py", "TITLE = 'Middlemarch'\n")
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
