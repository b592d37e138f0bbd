"""The routes of a FastAPI application as a table; a request is matched with the patterns that FastAPI itself uses."""

from typing import Any

from fastapi.routing import APIRoute, iter_route_contexts

from services.common.http.route_table import PathRoute, RouteTable


def operation_id(route: APIRoute) -> str:
    """Return what programs made from the document call the request: getAlert for the function get_alert."""
    first, *others = route.name.split("_")
    return first + "".join(map(str.capitalize, others))


def routes_of(application: Any) -> RouteTable:
    """Return the routes of `application`; none where it is no application of FastAPI."""
    contexts = iter_route_contexts(getattr(application, "routes", ()))
    return RouteTable(
        PathRoute(each.path_regex, each.path_format, frozenset(each.methods))
        for each in contexts
        if each.path_format is not None and each.methods
    )
