"""The rules of `check_feature`: a module for each subject, whose function yields findings."""
