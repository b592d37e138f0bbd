import pytest

from services.common.settings import refuse_open_bind


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_is_always_allowed(host: str) -> None:
    refuse_open_bind(host, allow_unauthenticated_bind=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_other_addresses_need_the_operators_word(host: str) -> None:
    with pytest.raises(ValueError, match="allow_unauthenticated_bind"):
        refuse_open_bind(host, allow_unauthenticated_bind=False)
    refuse_open_bind(host, allow_unauthenticated_bind=True)
