"""What `rebuild-index` made, in words: where it lies, what it could not know, and how it is put in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import MAX_SENTENCE, shell_word, visible
from pulsar_backlog.json_text import to_json
from pulsar_backlog.ledgers.storage_kinds import traits_of

MAX_LINE = 4 * MAX_SENTENCE


@dataclass(frozen=True)
class Rebuilt:
    """A new index object.

    Attributes:
        ledger_id: ledger.
        copy: offload attempt's UUID.
        kind: how it is stored, `jcloud` or `filesystem`.
        data: where the data object lies.
        file: the new index object.
        places: blocks it names, or pairs of a MapFile's.
        entries: entries that were read through it.
        entry_bytes: sum of their bytes.
        unknown: what nothing told, one clause each.
        object_metadata: user metadata that it must carry in a bucket; none of a MapFile.
        upload: command that puts it beside the data object, or None for a folder.
    """

    ledger_id: int
    copy: str
    kind: str
    data: str
    file: str
    places: int
    entries: int
    entry_bytes: int
    unknown: tuple[str, ...]
    object_metadata: Mapping[str, str]
    upload: str | None


def upload_command(data_uri: str, file: Path, metadata: Mapping[str, str], endpoint: str | None) -> str | None:
    """The command of the cloud's own tool that uploads an index, and refuses to overwrite one; None for a folder."""
    scheme, _, rest = data_uri.partition("://")
    bucket, _, key = f"{rest}-index".partition("/")
    pairs = [f"{name}={value}" for name, value in sorted(metadata.items())]
    source, joined = shell_word(str(file)), shell_word(",".join(pairs))
    if scheme == "s3":
        at = f" --endpoint-url {shell_word(endpoint)}" if endpoint else ""
        place = f"--bucket {shell_word(bucket)} --key {shell_word(key)}"
        return f"aws s3api put-object {place} --body {source} --metadata {joined} --if-none-match '*'{at}"
    if scheme == "gs":
        return f"gcloud storage cp {source} {shell_word(data_uri + '-index')} --custom-metadata={joined} --no-clobber"
    if scheme in ("az", "abfss"):
        words = " ".join(map(shell_word, pairs))
        container = shell_word(bucket.partition("@")[0])
        place = f"--container-name {container} --name {shell_word(key)}"
        return f"az storage blob upload --file {source} {place} --metadata {words} --if-none-match '*'"
    return None


def print_rebuilt(made: Rebuilt, console: Console) -> None:
    """The verdict first; JSON where no one looks."""
    if not console.is_terminal:
        console.file.write(to_json(asdict(made)) + "\n")
        return
    places = counted(made.places, traits_of(made.kind).index_row)
    what = f"{counted(made.entries, 'entry')}, {places}, {made.entry_bytes:,} bytes"
    verdict = f"Made an index of ledger {made.ledger_id}, and read the whole ledger through it"
    console.print(Text.assemble((verdict, "bold"), f": {what}."))
    console.print(
        f"It is {visible(made.file, MAX_SENTENCE)}. Nothing else was written.", soft_wrap=True, highlight=False
    )
    for words in made.unknown:
        console.print(f"Not known: {visible(words, MAX_SENTENCE)}.")
    if traits_of(made.kind).index_row == "pair":
        console.print(
            "Put it beside the ledger's file data, as index; remove an older .index.crc there, which would not "
            "match it."
        )
    elif made.upload is None:
        pairs = " ".join(f"{name}={value}" for name, value in sorted(made.object_metadata.items()))
        console.print(
            "In a bucket, put it beside the data object, under this name and with this user metadata; without "
            f"them a broker refuses it: {visible(pairs, MAX_SENTENCE)}",
            soft_wrap=True,
        )
    else:
        console.print(f"Next: {visible(made.upload, MAX_LINE)}", soft_wrap=True, highlight=False)
    console.print("Then unload the topic: pulsar-admin topics unload TOPIC")
