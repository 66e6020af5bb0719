"""The second version, in which badges have a level, and say what they were awarded for."""
