"""Mail: the outbox, which sends after the request, and how a message is made and handed over."""
