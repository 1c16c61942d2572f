"""The port: queue, bell and event loop."""
