"""Arguments that several commands take."""

from typing import Annotated

import typer

from pulsar_backlog.options import HELP

SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help=HELP["source"], show_default=False)]
EndpointOption = Annotated[str | None, typer.Option(help=HELP["endpoint"])]
OutArgument = Annotated[str, typer.Argument(metavar="DIR", help=HELP["out"], show_default=False)]
