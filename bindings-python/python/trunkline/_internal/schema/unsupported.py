"""The error for types without JSON."""


class UnsupportedType(TypeError):
    """An annotation that has no JSON Schema."""
