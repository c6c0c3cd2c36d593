"""Real ``dask scheduler`` and ``dask worker`` processes on the loopback interface, without xla2py on their path.

They are copies of one process that has imported Dask, which takes longer than most tests.
"""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client
from distributed.security import Security

LAUNCHER = """
import json, os, signal, sys
import dask.array, distributed.cli.dask_scheduler, distributed.cli.dask_worker, numpy
from dask.__main__ import main

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    folder, log, *sys.argv[1:] = json.loads(line)
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(written, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(folder)
    main()
    os._exit(0)
"""
NO_PROFILES = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}  # which cost a waiting worker most


class Launcher:
    """A process with Dask imported, of which others are copies."""

    def __init__(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | NO_PROFILES
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-P", "-c", LAUNCHER], env=environment, text=True, **pipes)

    def start(self, folder: Path, log: Path, *arguments: str) -> Process:
        """Run ``dask`` with arguments, in a folder."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), str(log), *arguments]) + "\n")
        self.process.stdin.flush()
        return Process(int(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process, and none of its copies."""
        self.process.communicate("")


@dataclass
class Process:
    """A copy of the launcher, by its number."""

    pid: int

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process, and return when it has gone."""
        deadline = time.monotonic() + 30
        self.send_signal(signal.SIGKILL)
        with suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.kill(self.pid, 0)
                time.sleep(0.002)


class Cluster:
    """A scheduler, workers, and a client of theirs."""

    def __init__(self, folder: Path, launcher: Launcher, count: int, tls: Path | None = None) -> None:
        self.folder, self.launcher, self.count = folder, launcher, count
        self.processes: dict[str, Process] = {}
        self.started = 0
        self.options = ["--host", f"{'tls' if tls else 'tcp'}://127.0.0.1"]
        security = None
        if tls is not None:
            files = {"ca-file": tls / "cert.pem", "cert": tls / "cert.pem", "key": tls / "key.pem"}
            self.options += [part for name, path in files.items() for part in (f"--tls-{name}", str(path))]
            roles = {f"tls_{role}_{end}": str(files[end]) for role in ("client",) for end in ("cert", "key")}
            security = Security(tls_ca_file=str(files["ca-file"]), require_encryption=True, **roles)
        self.file = folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file))
        for _ in range(count):
            self.add_worker()
        # not the default: what other tests compute would go to its workers, which are killed
        self.client = Client(scheduler_file=str(self.file), security=security, timeout=60, set_as_default=False)
        self.client.wait_for_workers(count, timeout=60)

    def _start(self, kind: str, *arguments: str) -> None:
        name = f"{kind}-{self.started}"
        self.started += 1
        log = self.folder / f"{name}.log"
        self.processes[name] = self.launcher.start(self.folder, log, kind, *self.options, *arguments)

    def add_worker(self) -> None:
        name = f"worker-{self.started}"
        local = ["--local-directory", str(self.folder), "--name", name]
        self._start("worker", *local, "--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny")

    def address(self, name: str) -> str:
        known: dict[str, dict[str, Any]] = self.client.scheduler_info(n_workers=-1)["workers"]
        return next(address for address, worker in known.items() if worker["name"] == name)

    def workers(self) -> list[str]:
        return [name for name in self.processes if name.startswith("worker")]

    def signal(self, name: str, number: int) -> None:
        self.processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        self.processes.pop(name).kill()

    def refill(self) -> None:
        """As many workers as at first."""
        for _ in range(self.count - len(self.workers())):
            self.add_worker()
        self.client.wait_for_workers(self.count, timeout=60)

    def leftovers(self) -> list[str]:
        """Tasks that the scheduler still knows."""
        found: list[str] = self.client.run_on_scheduler(
            lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks]
        )
        return found

    def close(self) -> None:
        self.client.close()
        for process in self.processes.values():
            process.kill()


@contextmanager
def cluster(folder: Path, launcher: Launcher, count: int, tls: bool = False) -> Iterator[Cluster]:
    """A cluster of ``count`` workers of one thread each; with ``tls``, everything encrypted by a new certificate."""
    folder.mkdir(parents=True, exist_ok=True)
    if tls:
        write_certificate(folder)
    made = Cluster(folder, launcher, count, folder if tls else None)
    try:
        yield made
    finally:
        made.close()


def write_certificate(folder: Path) -> None:
    """A key and a self-signed certificate for a day."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "replicas")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
