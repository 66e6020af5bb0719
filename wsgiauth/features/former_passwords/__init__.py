"""Passwords that other software hashed: users keep them, and a login replaces the hash."""
