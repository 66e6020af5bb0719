"""Make the repository `library.git` with a first commit."""

from pathlib import Path

from dulwich.objects import Blob, Tree
from dulwich.repo import Repo

PATH = Path("repositories/library.git")
ADA = b"Ada <ada@example.org>"


def make_repository():
    book, tree = Blob.from_string(b"Middlemarch\n"), Tree()
    tree.add(b"book.txt", 0o100644, book.id)
    PATH.mkdir(parents=True)
    with Repo.init_bare(PATH) as repository:
        for each in (book, tree):
            repository.object_store.add_object(each)
        repository.get_worktree().commit(b"First", tree=tree.id, author=ADA, committer=ADA)


if not PATH.exists():
    make_repository()
