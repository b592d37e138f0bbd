"""The demo's table: which detectors' events happened together, and what their clocks alone would say."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from coincide.queries import Query
from deploy.local.sn1987a import ALL_THREE, ANY_TWO, DETECTORS, DetectorGroup, by_detectors

Matches = Mapping[str, Iterable[Mapping[str, Any]]]


def table_of(queries: Mapping[str, Query], matches: Matches) -> Table:
    """Return the table of the demo's ``queries`` and their ``matches``, by query id."""
    window_s = queries[ANY_TWO].window.hi_s
    table = Table(
        title="SN1987A, 1987-02-23 07:35 UT: three detectors, three clocks that disagree",
        caption=f"apart: their first events, as the clocks say; P: that those came within {window_s:g} s",
        box=SIMPLE_HEAD,
    )
    table.add_column("detectors", no_wrap=True)
    for heading in ("\napart", "\nP", "\nP >=", "\nmatches", f"plain\n{window_s:g} s"):
        table.add_column(heading, justify="right", no_wrap=True)
    _add_rows(table, by_detectors(matches[ANY_TWO], window_s), queries[ANY_TWO].within[0].threshold)
    _add_rows(table, by_detectors(matches[ALL_THREE], window_s, members=3), queries[ALL_THREE].joint_threshold)
    return table


def _add_rows(table: Table, groups: Iterable[DetectorGroup], threshold: float | None) -> None:
    for group in groups:
        sure = group.first_events_probability
        table.add_row(
            " - ".join(DETECTORS[each] for each in group.detectors),
            f"{group.first_events_apart_s:.3f} s",
            "none" if sure is None else f"{sure:.4f}",
            f"{threshold:g}",
            str(group.matches),
            str(group.point_matches),
        )
    table.add_section()
