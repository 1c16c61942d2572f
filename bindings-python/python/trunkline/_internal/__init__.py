"""The implementation. Everything public is exported from `trunkline`."""
