"""The entry point of the command `bertlab` and of `python -m bertlab`."""


def main() -> None:
    """Runs the command line. Ctrl-C during imports exits with 130, as it does later."""
    try:
        from bertlab.cli import main as command

        command.main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
