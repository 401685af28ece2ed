"""`python -m linkwork` is the command `linkwork`."""

from linkwork.cli import main

main()
