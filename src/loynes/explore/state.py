"""What the page shows, as a record: the model, the rate, the policy, a pinned state; bounded, and as other forms."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loynes.errors import ModelError, UsageError
from loynes.model import Model, load

# A page is for looking at a cluster; what is larger is asked on the command line.
MOST_SERVERS, MOST_CLASSES = 65_536, 64
LONGEST_NAME, LONGEST_TEXT, MOST_ENTRIES, DEEPEST = 100, 2000, 2000, 10
# Of a request, and of what a compressed address may become.
MOST_BYTES = 256 * 1024

Form = Literal["toml", "command", "python", "address"]
Also = Literal["policies", "what_if", "sweep"]


class Pinned(BaseModel):
    """A state to compare with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: dict[str, Any]
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    policy: Annotated[str, Field(max_length=LONGEST_NAME)] = "fcfs"

    @property
    def cluster(self) -> Model:
        check_policy(self.policy)
        return bounded_model(self.model).with_rate(self.rate)


class State(BaseModel):
    """The page's state. `model` is a model file as plain data; `rate` is the arrival rate that is looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: dict[str, Any]
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    policy: Annotated[str, Field(max_length=LONGEST_NAME)] = "fcfs"
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 1
    pinned: Pinned | None = None

    @property
    def cluster(self) -> Model:
        """The model itself, validated, at the rate."""
        check_policy(self.policy)
        return bounded_model(self.model).with_rate(self.rate)

    def to_address(self) -> str:
        """As the part of an address behind #: compressed JSON in base64url."""
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packer.compress(self.model_dump_json(exclude_none=True).encode()) + packer.flush()
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def check_policy(name: str) -> None:
    """Only policies that are built in: a name that is a file would run whatever is in it."""
    from loynes.kernels.events.policies import policies

    if name not in policies():
        raise UsageError(f"policy {name!r}: no such policy; there are {', '.join(policies())}")


def state_of(data: object) -> State:
    """The state from plain data; a UsageError says what is wrong with it."""
    try:
        return State.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "state"
        raise UsageError(f"{where}: {first['msg'].lower()}") from None


def from_address(text: str) -> State:
    """The state that an address holds."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacker = zlib.decompressobj(-15)
        plain = unpacker.decompress(packed, MOST_BYTES)
        return state_of(json.loads(plain))
    except (ValueError, zlib.error, RecursionError):
        raise UsageError("the address does not hold a state that can be read") from None


def first_state(model: Model) -> State:
    """The state that a page begins with: at the model's own rate, or at 0.6 of what it could take without blocking."""
    rate = model.rate or float(f"{0.6 * model.ideal:.3g}")
    document = model.to_dict()
    document.pop("description", None)
    return state_of({"model": document, "rate": rate})


def bounded_model(document: dict[str, Any]) -> Model:
    """A model from what a browser sent: of bounded size, and naming no file."""
    check_bounds(document)
    classes = document.get("classes")
    if isinstance(classes, list) and len(classes) > MOST_CLASSES:
        raise ModelError(f"classes: {len(classes)} of them, the page takes at most {MOST_CLASSES}")
    # Before the model is made, which may take time that grows with its size.
    for one in classes if isinstance(classes, list) else ():
        if isinstance(one, dict) and len(str(one.get("name", ""))) > LONGEST_NAME:
            raise ModelError(f"classes: a name has more than {LONGEST_NAME} signs")
    model = load(document)
    if model.servers > MOST_SERVERS:
        raise ModelError(f"servers: {model.servers} units in all, the page takes at most {MOST_SERVERS}")
    return model


def check_bounds(value: object, depth: int = 0) -> None:
    """Refuse long texts, long lists, deep nesting, and files: the page reads none but what was named at the start."""
    if depth > DEEPEST:
        raise ModelError("model: nested too deeply")
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ModelError(f"model: a text has more than {LONGEST_TEXT} signs")
    if isinstance(value, str) and not _writable(value):
        raise ModelError("model: a text holds half a sign, which no file can hold")
    if isinstance(value, dict | list) and len(value) > MOST_ENTRIES:
        raise ModelError(f"model: a list has more than {MOST_ENTRIES} entries")
    if isinstance(value, dict):
        if "file" in value:
            raise ModelError("file: the page reads no files; give the values themselves")
        for key, one in value.items():
            check_bounds(key, depth + 1)
            check_bounds(one, depth + 1)
    elif isinstance(value, list):
        for one in value:
            check_bounds(one, depth + 1)


def _writable(text: str) -> bool:
    """Whether it is Unicode: JSON may spell half of a pair of surrogates, which is no sign."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def exported(state: State, form: Form) -> str:
    """The state in another form: a model file, a command line, a cell of a notebook, the part of an address behind #"""
    from loynes.questions.asking.command_line import command_line
    from loynes.questions.evaluate import Evaluate

    model = state.cluster
    if form == "toml":
        return model.to_toml()
    if form == "address":
        return state.to_address()
    options = {"rate": state.rate}
    more = {"policy": state.policy} if state.policy != "fcfs" else {}
    seed = {"seed": state.seed} if state.seed != 1 else {}
    if form == "command":
        return command_line(Evaluate, options | more | seed)
    said = "".join(f", {name}={value!r}" for name, value in (options | more | seed).items())
    return f"import loynes\n\nmodel = loynes.load({model.to_dict()!r})\nloynes.evaluate(model{said})\n"


def imported(text: str) -> dict[str, Any]:
    """A model, as plain data, from the text of a model file (TOML or JSON), or of a result that holds one."""
    import tomllib

    try:
        document = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"not a model file in TOML or JSON: {error}") from None
    about = document.get("model")
    if isinstance(about, dict) and isinstance(about.get("definition"), dict):
        document = about["definition"]
    return bounded_model(document).to_dict()
