"""What can go wrong, by kind; the command line turns each into one line and an exit code."""


class LoynesError(Exception):
    """Base of every error a user can cause; `exit_code` is what the command line returns."""

    exit_code = 2

    @property
    def lines(self) -> tuple[str, ...]:
        """What is to be said, a mistake a line. A name in it may hold line breaks of its own."""
        return (str(self),)


class ModelError(LoynesError):
    """A model, or a file that should hold one, is not right; the message names the field and what would be.

    A file may have several mistakes: a line each.
    """

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(map(str, self.args))


class RecordError(ModelError, ValueError):
    """A part of a model that was built in Python, such as a `JobClass`, is not right; `__cause__` is pydantic's error.

    A ValueError, so that pydantic knows it where it is raised within the validation of something larger.
    """


class TraceError(LoynesError):
    """A recorded workload, or (strictly) a line of it, cannot be read; the message names the line and what is right."""


class UsageError(LoynesError):
    """Options that contradict each other, or ask for something this installation lacks."""


class UnstableError(LoynesError):
    """The arrival rate is at or above the stability threshold: there is no stationary wait to report."""

    exit_code = 3


class SamplingError(LoynesError):
    """A sample did not settle within the limits given."""


class TimeUpError(LoynesError):
    """The time that was allowed was up before anything was known."""


class LoynesWarning(UserWarning):
    """Something in a result that its reader must know; also listed in the result itself."""
