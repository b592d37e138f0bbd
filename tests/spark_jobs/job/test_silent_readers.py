"""Readers of the jobs' HTTP servers who take nothing: they are cut off in time."""

import socket
import sys
import threading
from typing import Any

from prometheus_client import CollectorRegistry

from services.common.access.component_access import ComponentAccess
from services.common.http.route_table import PathRoute, RouteTable
from services.common.kafka.connection import KafkaConnection
from spark_jobs.job.http_server import GuardedHandler, GuardedServer, JobServer
from spark_jobs.settings import FusionSettings
from tests.services.kept_records import KeptRecords

LIMIT_S = 0.1


class Noting(JobServer):
    """A server that tells when it has ended a connection."""

    was_cut_off, faults = threading.Event(), list[object]()

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.faults.append(sys.exception())

    def shutdown_request(self, request: Any) -> None:
        self.was_cut_off.set()
        super().shutdown_request(request)


class Endless(GuardedHandler):
    """Answers with more than any reader takes who reads nothing."""

    routes = RouteTable([PathRoute.of("/metrics", "GET")])

    def do_GET(self) -> None:  # noqa: N802 - the base class calls it
        assert self.connection.gettimeout() == LIMIT_S
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(bytes(1 << 20))


def test_a_reader_that_takes_nothing_is_cut_off() -> None:
    settings = FusionSettings(port=0, kafka=KafkaConnection(servers="127.0.0.1:1"), send_timeout_s=LIMIT_S)
    access = ComponentAccess("fusion", settings, CollectorRegistry(), publisher=KeptRecords())
    server: GuardedServer = Noting(settings, access, CollectorRegistry(), lambda: None)
    server.RequestHandlerClass = Endless
    server.start()
    with socket.create_connection(("127.0.0.1", server.server_address[1]), 10) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert Noting.was_cut_off.wait(30)
    assert Noting.faults == []
    server.shutdown()
    server.server_close()
