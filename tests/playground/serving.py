"""A server of the page in this process."""

from contextlib import contextmanager
from threading import Thread

from xla2py.transpile.playground.server import Playground


@contextmanager
def serving(program=None):
    """A server that answers until the end of the block."""
    with Playground(program=program) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
