"""What a table promises: columns with type, nullability and a sentence; key; slice; statistics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column of a public table.

    Attributes:
        name: as SQL users write it.
        type: Spark SQL type, in DDL.
        comment: one sentence: unit, meaning of null, source.
        nullable: whether null is allowed.
        since: version of the table's contract that added it. Tables that are older have null there: not known then.
        fields_since: the same of the newest field of its struct.
    """

    name: str
    type: str
    comment: str
    nullable: bool = True
    since: int = 1
    fields_since: int = 1


@dataclass(frozen=True)
class Table:
    """The contract of one Delta table.

    Attributes:
        name: the table's and its folder's name.
        comment: what one row is.
        columns: in order.
        key: columns that identify a row; never null, unique in the table.
        slice_columns: columns whose values name the part that one write replaces.
        statistics: columns Delta keeps minimum and maximum of (what people filter by).
        ascending: columns of numbers or times, or of lists of such, that lie near those before them: they are
            stored as differences.
        unique: columns of other values that hardly repeat: a dictionary of them is built only to be thrown away.
        repeated: columns of texts or bytes that many rows share: tasks hold each of them once, in a dictionary.
        row_group_bytes: of rows in memory that make a row group at most, which readers skip or read as a whole.
        largest_row_bytes: of a row in memory at most, where it has long lists; 0 of rows that are small.
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    slice_columns: tuple[str, ...]
    statistics: tuple[str, ...] = ()
    ascending: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    row_group_bytes: int = 64 * 1024 * 1024
    largest_row_bytes: int = 0

    def __hash__(self) -> int:
        """By name alone: what is made of a table is kept by it, and looked up for each batch of rows."""
        return hash(self.name)

    def ddl(self) -> str:
        """Columns as a Spark DDL string, without comments."""
        return ", ".join(
            f"`{c.name}` {c.type}{'' if c.nullable else ' NOT NULL'}" for c in self.columns
        )

    @property
    def version(self) -> int:
        """Version of the contract: it grows when a column is added, or a field to a struct.

        None is ever removed, renamed or of another type.
        """
        return max(max(column.since, column.fields_since) for column in self.columns)

    def column_names(self) -> list[str]:
        """Column names in order."""
        return [c.name for c in self.columns]

    def unrepeated(self) -> list[str]:
        """Columns without a dictionary, in order."""
        return [name for name in self.column_names() if name in (*self.ascending, *self.unique)]


def required(name: str, type_: str, comment: str, fields_since: int = 1) -> Column:
    """A column that is never null."""
    return Column(name, type_, comment, nullable=False, fields_since=fields_since)


CLUSTER = required("cluster", "string", "Name of the Pulsar cluster, as given to `--cluster`.")
TOPIC = Column(
    "topic",
    "string",
    "Full name of the topic partition, `persistent://tenant/namespace/name`; null when nothing names it.",
)
LEDGER_ID = required("ledger_id", "bigint", "BookKeeper ledger id.")
ENTRY_ID = required("entry_id", "bigint", "Entry id within the ledger, from 0.")
