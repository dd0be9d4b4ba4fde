"""`python -m bench`: see `bench.run`; `consumers`, `simulation` and `nights` are the modules of these names.

`differences` is `bench.families`.
"""

import sys

if __name__ == "__main__":  # the processes of the CRC baseline import this module again
    if sys.argv[1:2] == ["consumers"]:
        from bench.consumers import main as consumers  # needs no Spark

        sys.exit(consumers(sys.argv[2:]))
    if sys.argv[1:2] == ["simulation"]:
        from bench.simulation import main as simulation

        sys.exit(simulation(sys.argv[2:]))
    if sys.argv[1:2] == ["nights"]:
        from bench.nights import main as nights

        sys.exit(nights(sys.argv[2:]))
    if sys.argv[1:2] == ["differences"]:
        from bench.families import main as differences

        sys.exit(differences(sys.argv[2:]))
    from bench.run import main

    sys.exit(main(sys.argv[1:]))
