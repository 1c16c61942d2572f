"""The context of a handler while it runs."""
