"""A feature that keeps all rules: users lend books. `test_check_feature` edits copies of it."""
