"""What answers the calls of registered things, one module for each kind."""
