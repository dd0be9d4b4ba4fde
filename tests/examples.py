"""How many examples a property is tried on."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(in_ci: int, **others: Any) -> settings:
    """So many in CI; the profile `thorough` tries twenty times as many, as it does where a test says nothing.

    Args:
        in_ci: where the default is 100.
        others: further settings of Hypothesis.
    """
    return settings(max_examples=in_ci * settings().max_examples // 100, **others)
