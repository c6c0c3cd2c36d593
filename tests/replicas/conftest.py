"""Clusters for all tests of the folder, each started by the first that wants it."""

import pytest

from xla2py.tests.replicas.clusters import Launcher, cluster


@pytest.fixture(scope="session")
def launcher():
    made = Launcher()
    yield made
    made.close()


@pytest.fixture(scope="session")
def four_workers(tmp_path_factory, launcher):
    with cluster(tmp_path_factory.mktemp("cluster"), launcher, 4) as made:
        yield made


@pytest.fixture(scope="session")
def eight_workers(tmp_path_factory, launcher):
    with cluster(tmp_path_factory.mktemp("cluster"), launcher, 8) as made:
        yield made


@pytest.fixture
def workers(four_workers):
    """The cluster, with all its workers."""
    four_workers.refill()
    return four_workers
