"""Links in emails: a new password, a proof of an address, and invitations."""
