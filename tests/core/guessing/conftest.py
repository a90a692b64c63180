"""Sources of these tests lie in no repository, but for those that a test writes into one."""

import pytest


@pytest.fixture(autouse=True)
def _in_no_repository(in_no_repository):
    pass
