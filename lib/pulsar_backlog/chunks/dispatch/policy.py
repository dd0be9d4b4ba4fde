"""What an application does with a message.

An action alone is always done. `nack:N` is a nack while the redelivery count is below N, then ack. `reject:N`,
`forget:N` and `later:N` are nack, nothing and later the first N times that this consumer sees the message, then ack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

Action = Literal["ack", "none", "nack", "ackcum", "ackser", "later"]

_ACTIONS: Mapping[str, Action] = {action: action for action in get_args(Action)}
_FIRST_TIMES: Mapping[str, Action] = {"reject": "nack", "forget": "none", "later": "later"}


def action_for(policy: Mapping[str, Any], label: str, count: int, seen: int) -> Action:
    """What happens to a message with this redelivery count that this consumer sees for the so-manieth time.

    Raises:
        ValueError: the policy is not known.
    """
    rule = str(policy.get(label, policy.get("default", "ack")))
    verb, _, number = rule.partition(":")
    if verb == "nack" and number:
        return "nack" if count < int(number) else "ack"
    if number and verb in _FIRST_TIMES:
        return _FIRST_TIMES[verb] if seen <= int(number) else "ack"
    if rule in _ACTIONS:
        return _ACTIONS[rule]
    raise ValueError(f"no policy {rule!r}: there are {', '.join(_ACTIONS)}, nack:N, reject:N, forget:N, later:N")
