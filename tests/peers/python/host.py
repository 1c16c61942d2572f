"""The user, the model and the folder of the peer clients in Python."""

from typing import Any


def callbacks(types: Any) -> dict[str, Any]:
    """`types` are the models of the SDK."""

    async def elicitation_callback(_context: Any, _params: Any) -> Any:
        return types.ElicitResult(action="accept", content={})

    async def sampling_callback(_context: Any, _params: Any) -> Any:
        content = types.TextContent(type="text", text="Fine.")
        return types.CreateMessageResult(role="assistant", content=content, model="fixture")

    async def list_roots_callback(_context: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri="file:///work")])

    return {
        "elicitation_callback": elicitation_callback,
        "sampling_callback": sampling_callback,
        "list_roots_callback": list_roots_callback,
    }
