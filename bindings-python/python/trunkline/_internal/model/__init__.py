"""Values of the protocol."""
