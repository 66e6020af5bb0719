"""Make library.db, a file with one table."""

import sqlite3

database = sqlite3.connect("library.db")
database.executescript("""
    CREATE TABLE IF NOT EXISTS book (id INTEGER PRIMARY KEY, title TEXT);
    INSERT OR REPLACE INTO book VALUES (1, 'Middlemarch'), (2, 'Persuasion');
""")
database.close()
