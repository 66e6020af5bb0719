"""Import and export of many accounts, as rows of strings with the same columns."""
