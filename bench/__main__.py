"""`python -m bench`: see `bench.run`."""

import sys

from bench.run import main

if __name__ == "__main__":  # the processes of the CRC baseline import this module again
    sys.exit(main(sys.argv[1:]))
