"""README.md and the pages of docs/ are true: what they show runs, what they name exists."""
