"""Clients of many servers."""
