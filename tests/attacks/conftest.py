"""The attacks are on a stack like that of the end-to-end tests."""

from tests.e2e.conftest import stack

__all__ = ["stack"]
