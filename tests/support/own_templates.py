"""The templates of wsgiauth: those of the kernel, and of each feature."""

from wsgiauth.web.templates import FOLDERS

# By the name that the templates of a host have in the folder of TEMPLATES.
OWN = {
    path.relative_to(folder).as_posix(): path
    for folder in FOLDERS
    for path in sorted(folder.rglob("*.*"))
}
