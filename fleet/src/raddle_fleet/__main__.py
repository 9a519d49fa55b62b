"""`python -m raddle_fleet`."""

from raddle_fleet.cli import main

main()
