"""The entry point of the command `bertlab` and of `python -m bertlab`."""

import _signal  # type: ignore[import-not-found]  # `signal` without `enum`, whose import takes 10 ms


def main() -> None:
    """Runs the command line.

    Signals end the process at once, without a word, while modules are imported and after the command: only within it
    there is something to save or to remove. SIGTERM does so from the start; Python makes an error of SIGINT.
    """
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from bertlab.cli import main as command

    command.main()


if __name__ == "__main__":
    main()
