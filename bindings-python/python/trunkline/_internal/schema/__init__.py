"""JSON Schemas, and values in JSON."""
