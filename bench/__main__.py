"""`python -m bench`: see `bench.run`; `python -m bench consumers CORPUS`: see `bench.consumers`."""

import sys

if __name__ == "__main__":  # the processes of the CRC baseline import this module again
    if sys.argv[1:2] == ["consumers"]:
        from bench.consumers import main as consumers  # needs no Spark

        sys.exit(consumers(sys.argv[2:]))
    from bench.run import main

    sys.exit(main(sys.argv[1:]))
