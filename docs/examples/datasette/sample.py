"""Make books.db, which everyone can read, and loans.db."""

import sqlite3

FILES = {
    "books.db": """
        CREATE TABLE IF NOT EXISTS book (id INTEGER PRIMARY KEY, title TEXT);
        INSERT OR REPLACE INTO book VALUES (1, 'Middlemarch'), (2, 'Persuasion');
    """,
    "loans.db": """
        CREATE TABLE IF NOT EXISTS loan (id INTEGER PRIMARY KEY, title TEXT, reader TEXT);
        INSERT OR REPLACE INTO loan VALUES (1, 'Middlemarch', 'Grace');
    """,
}
for file, script in FILES.items():
    database = sqlite3.connect(file)
    database.executescript(script)
    database.close()
