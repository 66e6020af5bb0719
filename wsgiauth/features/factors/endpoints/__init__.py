"""The URLs of second factors."""
