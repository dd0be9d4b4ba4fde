"""A value that tasks use, whoever runs them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast
    from pyspark.sql import SparkSession

Value = TypeVar("Value")


class SharedValue(Generic[Value]):
    """A value that tasks use: a broadcast, made when a task that names it is sent to Spark, and only then."""

    def __init__(self, session: Callable[[], SparkSession], value: Value) -> None:
        """Share `value` in the session that is asked for."""
        self._session, self.value = session, value

    def __reduce__(self) -> tuple[type[_BroadcastValue[Value]], tuple[Broadcast[Value]]]:
        return _BroadcastValue, (self._session().sparkContext.broadcast(self.value),)


class _BroadcastValue(Generic[Value]):
    """What a task of Spark has of it."""

    def __init__(self, broadcast: Broadcast[Value]) -> None:
        self._broadcast = broadcast

    @property
    def value(self) -> Value:
        return self._broadcast.value  # Spark turns the collector on when it reads a broadcast


class _OwnValue(Generic[Value]):
    """What a task of this machine's processes has of it."""

    def __init__(self, value: Value) -> None:
        self.value = value


def pickled_task(task: object) -> bytes:
    """A task for a process of this machine: shared values go with it."""
    stream = BytesIO()
    _TaskPickler(stream, pickle.HIGHEST_PROTOCOL).dump(task)
    return stream.getvalue()


class _TaskPickler(pickle.Pickler):
    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, SharedValue):
            return _OwnValue, (obj.value,)
        return NotImplemented
