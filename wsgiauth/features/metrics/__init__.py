"""Metrics: the figures of a site for Prometheus."""
