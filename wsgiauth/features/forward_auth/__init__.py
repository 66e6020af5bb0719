"""Answers for a proxy that asks who sent a request (forward authentication)."""
