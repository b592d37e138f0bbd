"""Sessions: who signed in with which key; kept in memory, bounded, and forgotten when unused."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from services.console.rest.documents import CallerAnswer

COOKIE = "coincide_console"


@dataclass(frozen=True)
class PersonSession:
    """One person: the key that was shown, None where none is needed, and whom the services see in it."""

    id: str
    key: str | None
    caller: CallerAnswer
    used_s: float

    def may(self, scope: str) -> bool:
        """Whether the person may do what needs `scope`."""
        return self.caller.may(scope)


class PersonSessions:
    """All sessions, the longest unused first; at most `most`, each until it was unused for `kept_s`."""

    def __init__(self, most: int, kept_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._most, self._kept_s, self._clock_s = most, kept_s, clock_s
        self._sessions: OrderedDict[str, PersonSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, key: str | None, caller: CallerAnswer) -> PersonSession:
        """Return a new session."""
        session = PersonSession(secrets.token_urlsafe(32), key, caller, self._clock_s())
        self._sessions[session.id] = session
        while len(self._sessions) > self._most:
            self._sessions.popitem(last=False)
        return session

    def find(self, id_: str | None) -> PersonSession | None:
        """Return the session with this id, and note that it is in use; None where there is none, or no longer."""
        session = self._sessions.get(id_) if id_ else None
        now_s = self._clock_s()
        if session is None or now_s > session.used_s + self._kept_s:
            self.end(id_)
            return None
        self._sessions[session.id] = session = replace(session, used_s=now_s)
        self._sessions.move_to_end(session.id)
        return session

    def is_open(self, id_: str) -> bool:
        """Whether the session still stands; does not count as a use of it."""
        return id_ in self._sessions

    def end(self, id_: str | None) -> None:
        """Forget a session."""
        self._sessions.pop(id_ or "", None)
