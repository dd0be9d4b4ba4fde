"""Tables in folders and buckets: Delta's log and files, read and committed slice by slice. Only it knows Delta."""
