"""Requests, responses, pages and URLs, without accounts."""
