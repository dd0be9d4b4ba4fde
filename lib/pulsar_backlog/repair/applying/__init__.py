"""From a plan to changes on a broker, each checked before and looked at again after."""
