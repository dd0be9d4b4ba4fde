"""Tasks run by processes of this machine: what Spark's workers do on a cluster, without a JVM that takes seconds.

A task is an object that pickle knows, called with one input. `pool` hands inputs to processes, each of which is a
`worker`; `shared` is a value that all tasks of either engine use.
"""
