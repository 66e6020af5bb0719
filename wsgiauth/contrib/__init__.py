"""Adapters for frameworks, which connect a framework's current user and guards with wsgiauth.

Only an adapter imports its framework, and only applications import an adapter. No adapter
identifies anyone: each takes the user from `environ["wsgiauth.user"]`.
"""
