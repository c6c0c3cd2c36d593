"""Real ``dask scheduler`` and ``dask worker`` processes on the loopback interface, without xla2py on their path."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client
from distributed.security import Security


class Cluster:
    """A scheduler, workers, and a client of theirs."""

    def __init__(self, folder: Path, count: int, tls: Path | None = None) -> None:
        self.folder, self.count = folder, count
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
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
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        name = f"{kind}-{self.started}"
        self.started += 1
        with open(self.folder / f"{name}.log", "wb") as log:
            command = [sys.executable, "-m", "dask", kind, *self.options, *arguments]
            self.processes[name] = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=subprocess.STDOUT
            )

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
        process = self.processes.pop(name)
        process.kill()
        process.wait()

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
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, count: int, tls: bool = False) -> Iterator[Cluster]:
    """A cluster of ``count`` workers of one thread each; with ``tls``, everything encrypted by a new certificate."""
    folder.mkdir(parents=True, exist_ok=True)
    if tls:
        write_certificate(folder)
    made = Cluster(folder, count, folder if tls else None)
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
