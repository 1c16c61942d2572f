"""The error for types without a JSON Schema."""


class UnsupportedType(TypeError):
    """An annotation that has no JSON Schema."""
