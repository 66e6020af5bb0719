"""The decisions of a user about an app, in forms."""

ALLOW, REFUSE = "allow", "refuse"
