"""The URLs of other providers."""
