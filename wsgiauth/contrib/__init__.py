"""Adapters for frameworks: each module makes a framework's own current user and guards ours.

Each module imports its framework, and nothing else imports the module, so that wsgiauth needs no
framework. No adapter identifies anyone: each takes the user from `environ["wsgiauth.user"]`.
"""
