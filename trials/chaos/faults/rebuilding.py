"""A rebuild that is over: what a person asks for who puts fusion in order again, and waits for."""

from deploy.host.machine import LocalError, wait_until
from trials.chaos.faults.fault import Place

_WITHIN_S = 1800.0


def rebuild(place: Place) -> None:
    """Rebuild, and return when fusion has read all that there was; until then the answers of before are served."""
    before = _states(place)
    place.system.rebuild()
    if not wait_until(lambda: "done" in dict(_states(place).items() - before.items()).values(), _WITHIN_S, every_s=0.5):
        raise LocalError(f"the rebuild was not done within {_WITHIN_S:.0f} s")


def _states(place: Place) -> dict[str, str]:
    """Return the states of the last rebuilds by their ids."""
    items = place.system.alerting.get("/v1/rebuilds").raise_for_status().json()["items"]
    return {each["id"]: each["state"] for each in items}
