"""The context of a running handler."""
