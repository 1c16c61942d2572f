"""Parameters of handlers."""
