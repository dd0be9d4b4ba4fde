"""Flow control: a client that keeps permits gets fewer and fewer entries, until nothing comes any more.

The broker starts with as many permits as the receiver queue holds, and uses one per entry. The client gives them back
when it has saved up half a queue. With `kept` permits that it never gives back, and `saved` ones it has not yet given
back, the broker has `queue - kept - saved` left. Plain messages between two chunks are known only by their number.

Source: ConsumerImpl.increaseAvailablePermits of apache/pulsar, availablePermits of apache/pulsar-client-go.
"""

from __future__ import annotations


class Permits:
    """Permits of one connection.

    Attributes:
        kept: permits the client never gives back.
        scarce: whether so many are kept that the broker can run out of them at all.
    """

    def __init__(self, receiver_queue: int) -> None:
        self._queue = max(receiver_queue, 1)
        self._threshold = max(receiver_queue // 2, 1)
        self._returned = 0
        self.kept = 0
        self.scarce = False

    @property
    def exhausted(self) -> bool:
        """Whether the broker has none left."""
        return self.kept + self._returned % self._threshold >= self._queue

    def pass_messages(self, count: int) -> None:
        """Messages that the client takes and gives back the permits of, as far as the broker can send them."""
        if not self.scarce:
            self._returned += count
            return
        saved = self._returned % self._threshold
        until_flush = self._threshold - saved
        room = self._queue - self.kept - saved
        if room <= min(count, until_flush - 1):
            self._returned += max(room, 0)
        elif count >= until_flush and self._queue - self.kept < self._threshold:
            self._returned += until_flush - 1
        else:
            self._returned += count

    def keep(self) -> None:
        """The entry just passed does not give its permit back."""
        self._returned -= 1
        self.kept += 1
        self.scarce = self._queue - self.kept < self._threshold
