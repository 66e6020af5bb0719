"""What the commands of the command line share: arguments, settings, prompts and output."""
