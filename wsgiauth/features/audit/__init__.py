"""Reading the audit trail, which `events.emit` writes."""
