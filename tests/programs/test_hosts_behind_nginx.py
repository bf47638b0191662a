"""Two processes behind nginx, which spreads the hosts over them as the documentation says."""

import re
from contextlib import ExitStack

import pytest

from tests.conftest import documented_block
from tests.programs.test_proxies import nginx, served
from tests.storage.clients import put_body

HOSTS = [f"person{number}.example.com" for number in range(16)]


@pytest.fixture
def machines(tmp_path):
    machines = [tmp_path / "machine-1", tmp_path / "machine-2"]
    for machine in machines:
        for host in HOSTS:
            (machine / "hosts" / host).mkdir(parents=True)
    return machines


@pytest.fixture
def front(tmp_path, machines):
    with ExitStack() as stack:
        options = ["--trusted-proxy", "127.0.0.1", "--no-auth"]
        services = [
            stack.enter_context(served(machine, "--hosts", str(machine / "hosts"), *options))
            for machine in machines
        ]

        def edit(servers):
            upstream = documented_block("nginx", "hash $host consistent")
            for number, service in enumerate(services, 1):
                written = f"192.0.2.{number}:8080"
                assert upstream.count(written) == 1
                upstream = upstream.replace(written, service.address.removeprefix("http://"))
            written = f"proxy_pass {services[0].address};"
            assert servers.count(written) == 1
            location = documented_block("nginx", "proxy_next_upstream")
            servers = servers.replace(written, location)
            servers, count = re.subn(r" *proxy_set_header .* \$http_host;\n", "", servers)
            assert count == 2
            return upstream + re.sub("server_name [^;]*", "server_name *.example.com", servers)

        front = stack.enter_context(nginx(tmp_path, services[0], edit=edit))
        front.services = services
        yield front


def send(front, host, *arguments):
    front.host = host
    return front.send(*arguments)


def stored(machines, host):
    return [len(list((machine / "hosts" / host).glob("bookmarks/*"))) for machine in machines]


def test_each_host_is_on_one_machine_and_reads_follow_writes(front, machines):
    for host in HOSTS:
        for id in ("a", "b"):
            assert send(front, host, "PUT", f"/{id}", put_body(f"x:{id}", host)).status == 201
            assert send(front, host, "GET", f"/{id}").json["title"] == host
        assert sorted(stored(machines, host)) == [0, 2]
        assert len(send(front, f"{host.upper()}.", "GET", "/").json) == 2
    on_first = sum(stored(machines, host)[0] == 2 for host in HOSTS)
    assert 0 < on_first < len(HOSTS)


def test_a_cached_response_is_served_to_its_host_only(front):
    first, second = HOSTS[:2]
    for host in (first, second):
        assert send(front, host, "PUT", "/a", put_body("x:a")).status == 201
    assert send(front, first, "DELETE", "/a").status == 204
    for _ in range(2):
        assert send(front, first, "GET", "/a").status == 410
        assert send(front, second, "GET", "/a").status == 200


def test_a_request_that_names_two_hosts_is_one_to_the_host_that_nginx_has_chosen(front, machines):
    for host in HOSTS:
        assert send(front, host, "PUT", "/a", put_body("x:a")).status == 201
    first, *_ = (host for host in HOSTS if stored(machines, host) == [1, 0])
    second, *_ = (host for host in HOSTS if stored(machines, host) == [0, 1])
    assert send(front, second, "DELETE", "/a").status == 204
    assert send(front, second, "GET", f"http://{first}/a").status == 200
    assert send(front, second, "POST", f"http://{first}/", {"uri": "x:b"}).status == 201
    assert stored(machines, first) == [2, 0]
    assert stored(machines, second) == [0, 1]  # The file of the deleted one is kept.


def test_the_hosts_of_a_stopped_machine_are_unavailable_and_move_to_no_other(front, machines):
    for host in HOSTS:
        assert send(front, host, "PUT", "/a", put_body("x:a")).status == 201
    front.services[1].stop()
    on_stopped = [host for host in HOSTS if stored(machines, host) == [0, 1]]
    for host in HOSTS * 2:
        is_stopped = host in on_stopped
        assert send(front, host, "GET", "/a").status == (502 if is_stopped else 200)
        assert send(front, host, "DELETE", "/missing").status == (502 if is_stopped else 404)
        created = send(front, host, "POST", "/", {"uri": "x:b"}).status
        assert created in ([502] if is_stopped else [200, 201])
        assert stored(machines, host) == ([0, 1] if is_stopped else [2, 0])
