"""`python -m bertlab`."""

from bertlab.cli.main import main

if __name__ == "__main__":
    main()
