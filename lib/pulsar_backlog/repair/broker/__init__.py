"""The ways to a cluster: connection, client, producer, reader."""
