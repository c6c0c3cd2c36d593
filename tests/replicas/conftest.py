"""A cluster for the tests of a file, started by the first that wants it: idle workers take 13 % of a core."""

import pytest

from xla2py.tests.replicas.clusters import cluster


@pytest.fixture(scope="module")
def four_workers(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster"), 4) as made:
        yield made


@pytest.fixture
def workers(four_workers):
    """The cluster, with all its workers."""
    four_workers.refill()
    return four_workers
