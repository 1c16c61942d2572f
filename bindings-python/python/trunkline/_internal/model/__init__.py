"""Protocol values."""
