"""Features of a server, one module for each kind."""
