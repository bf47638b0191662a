"""The share target of the web app manifest: the handler of `/-/share`."""

from webob import Request

from formats.http.request import query_parameters
from formats.http.response import Response
from formats.http.routing import Route, Service
from formats.share import read_shared
from storage.query import first_values


def share(service: Service, request: Request) -> Response:
    """GET /-/share: respond with the form that adds a bookmark, filled with what a phone shares."""
    shared = read_shared(first_values(query_parameters(request)))
    return service.add_page(request, shared)


ROUTES = (Route("/-/share", {"GET": share}),)
