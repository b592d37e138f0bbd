"""The settings of a line that are of none of its components: `config/line.yaml`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from services.common.settings import FrozenSettings, SettingsError, TrustedCertificates, is_loopback

_REFERENCE = re.compile(r"(env|file):(.+)")


class ForwardSettings(BaseModel):
    """To whom a line forwards, and what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to: str = Field(
        max_length=500,
        pattern=r"^https?://[^/?#\s@*]+$",
        description="The line above, as https://coincide.example: where its ingest takes POSTs of detections.",
    )
    what: Literal["detections", "matches"] = Field(
        description="detections: all that this line took. matches: what it found; each is a detection above."
    )
    key: str | None = Field(
        None,
        pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$",
        description="Where the key for the line above stands: env:NAME is a variable of the environment, file:PATH a "
        "file. null: it needs none.",
    )
    queries: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = Field(
        None, description="The queries whose matches are forwarded; null: all."
    )
    sensor: str = Field(
        "{query}",
        max_length=200,
        pattern=r"^([^{}]|\{query\}|\{area\})+$",
        description="The sensor above that a match is a detection of. {query} and {area} stand for those of the match.",
    )
    final_after_s: float = Field(
        150.0,
        ge=0,
        le=86_400,
        description="How long after its last detection a match of more than two roles waits for one that has all of "
        "its members and more. Then it is forwarded, unless one has come.",
    )
    timeout_s: float = Field(10.0, gt=0, le=300, description="Longest wait for an answer.")
    trusted_certificates: TrustedCertificates = None

    @model_validator(mode="after")
    def _refuse_a_key_in_clear(self) -> Self:
        url = urlsplit(self.to)
        if self.key is not None and url.scheme == "http" and not is_loopback(url.hostname or ""):
            raise ValueError(f"to is {self.to!r}: with a key it must begin with https://, unless it is this machine")
        return self

    def key_text(self, environ: Mapping[str, str]) -> str | None:
        """Return the key itself; a `SettingsError` says where it is missing."""
        if self.key is None:
            return None
        found = _REFERENCE.fullmatch(self.key)
        assert found is not None  # noqa: S101 - its pattern says so
        kind, name = found.groups()
        try:
            text = environ[name] if kind == "env" else Path(name).read_text(encoding="utf-8")
        except KeyError:
            raise SettingsError(f"forward.key: the environment has no {name}, which {self.key} stands for") from None
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"forward.key: {self.key} cannot be read: {error}") from error
        if not re.fullmatch(r"[!-~]{1,500}", text := text.strip()):
            raise SettingsError(f"forward.key: {self.key} is no key: 1 to 500 letters, digits and signs are allowed")
        return text


class LineOwnSettings(FrozenSettings):
    """What is of no component."""

    PREFIX: ClassVar[str] = "COINCIDE_LINE_"

    forward: ForwardSettings | None = Field(
        None, description="The line above, to which this one forwards; null: to none."
    )
