"""What is easy to guess: patterns, and lists of passwords."""
