"""What every option has besides its type: words on command lines; and what holds them."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value of configuration: cannot be changed, and refuses keys it does not know."""

    # Built when first checked: help and mistakes of the command line need no checks, and answer at once.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True)
class Words:
    """What an option says of itself on every command line.

    Attributes:
        help: one clause.
        default: what a job takes where no layer sets it; None means that it does without.
        place: whether it is a folder or an address; a folder is made absolute.
        required: whether no job that takes it can run without.
    """

    help: str
    default: str | int | None = None
    place: bool = False
    required: bool = False
