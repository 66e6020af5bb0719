"""Webhooks: each change of an account is sent to URLs of the operator, signed (Standard Webhooks).

A row for each URL is written in the transaction of the change, and a queue sends it: see
`mail.posting`. A row has a digest of the URL, because URLs can have secrets.
"""
