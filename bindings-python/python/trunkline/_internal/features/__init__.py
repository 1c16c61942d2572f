"""The features of a server, one module per kind."""
