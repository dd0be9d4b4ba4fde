"""A broker spoken to in Pulsar's binary protocol: addresses, connections, entries as they are stored."""
