"""Examples of the synthetic tasks, each split made once."""

import functools

import pytest

from bertlab import synthetic as microworld


@pytest.fixture(scope="session")
def rows():
    return functools.cache(microworld.rows)
