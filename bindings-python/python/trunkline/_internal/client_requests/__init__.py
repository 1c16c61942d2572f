"""Requests that handlers send to their client."""
