"""Clusters of database servers, and several hosts: `make clusters`."""
