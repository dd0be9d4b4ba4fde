"""`inventory`: what a place of ledgers holds, what of it no broker needs, what that costs, and lists to delete."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, OutArgument
from pulsar_backlog.options import OPTIONS

_PRICE = "price of a GiB a month, in your currency; default: that of Amazon S3 Standard"
_OWNER = "state that no other Pulsar cluster stores into this place"
_LIST = "empty folder for lists of what may be deleted, for the store's own tools; this command deletes nothing"
_SHOWN = 5
"""Ledgers and holders that are named."""


def inventory(
    out: OutArgument,
    price_per_gib_month: Annotated[float, typer.Option(min=0, max=1e6, help=_PRICE)] = 0.023,
    sole_owner: Annotated[bool, typer.Option("--sole-owner", help=_OWNER)] = False,
    delete_list: Annotated[Path | None, typer.Option(metavar="DIR", help=_LIST)] = None,
    cluster: Annotated[str | None, typer.Option(help=OPTIONS["cluster"].words.help)] = None,
    endpoint: EndpointOption = None,
) -> None:
    """Say what is stored but not needed, and what it costs, from the tables of an audit in DIR."""
    from pulsar_backlog.output.delete_lists import Lists, Place, write_lists
    from pulsar_backlog.report.terminal.inventory import (
        GIB,
        Holder,
        InventorySummary,
        LargeLedger,
        Line,
        print_inventory,
    )
    from pulsar_backlog.runs.apart import check_apart
    from pulsar_backlog.sql.inventory import inventoried
    from pulsar_backlog.terminal import terminal

    with inventoried(absolute("out", out) or "", cluster, endpoint) as rows:
        lines = [Line(**asdict(one), per_month=one.bytes / GIB * price_per_gib_month) for one in rows.sums(sole_owner)]
        rate = price_per_gib_month / GIB
        largest = [LargeLedger(**asdict(one), per_month=one.bytes * rate) for one in rows.largest(_SHOWN)]
        sole_holders = [Holder(**asdict(one), per_month=one.bytes * rate) for one in rows.sole_holders(_SHOWN)]
        lists = Lists()
        if delete_list is not None:
            check_apart(rows.source, str(delete_list.absolute()), "--delete-list")
            lists = write_lists(delete_list.absolute(), Place.of(rows.source), rows.deletable(sole_owner))
        summary = InventorySummary(
            source=rows.source,
            listed=f"{rows.started:%Y-%m-%d %H:%M:%S}",
            price_per_gib_month=price_per_gib_month,
            lines=lines,
            list_folder=None if delete_list is None else str(delete_list.absolute()),
            listed_objects=lists.objects,
            listed_uploads=lists.uploads,
            left_out=lists.left_out,
            commands=lists.commands,
            largest=largest,
            sole_holders=sole_holders,
        )
    print_inventory(summary, terminal())
