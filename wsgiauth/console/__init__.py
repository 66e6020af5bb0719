"""Shared by all commands: their arguments, settings, prompts and output."""
