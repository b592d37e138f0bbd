import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run on asyncio alone."""
    return "asyncio"
