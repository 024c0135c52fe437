"""The entry point of the command `bertlab` and of `python -m bertlab`."""


def main() -> None:
    """Carries out the command line. A Ctrl-C that comes while modules are imported ends it with 130, as later ones."""
    try:
        from bertlab.cli import main as command

        command.main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
