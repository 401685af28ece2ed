"""Records behave as those of the standard library do."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from linkwork.records import dataclass


@dataclass(frozen=True)
class Pin:
    name: str
    at: tuple[float, float] = (0.0, 0.0)
    marks: list[str] = field(default_factory=list, repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Slot:
    name: str
    width: float


@dataclass(frozen=True)
class Hook(Pin):
    depth: float = 0.0


@dataclass
class Count:
    steps: int = 0


STANDARD: dict[type, Any] = {
    Pin: dataclasses.make_dataclass("Pin", [(f.name, f.type, f) for f in dataclasses.fields(Pin)], frozen=True),
    Count: dataclasses.make_dataclass("Count", [("steps", int, 0)]),
}


@pytest.mark.parametrize(("kind", "given"), [(Pin, ("A",)), (Pin, ("A", (1.0, 2.0), ("x",))), (Count, (3,))])
def test_a_record_is_made_shown_and_compared_as_the_standard_ones(kind: type, given: tuple[Any, ...]) -> None:
    """Arguments, text, equality, hash and copies with other values are those of `dataclasses.dataclass`."""
    record, standard = kind(*given), STANDARD[kind](*given)
    assert repr(record) == repr(standard)
    assert inspect.signature(kind).parameters.keys() == inspect.signature(STANDARD[kind]).parameters.keys()
    assert dataclasses.asdict(record) == dataclasses.asdict(standard)
    assert record == kind(*given) != standard
    assert record != dataclasses.replace(record, **{dataclasses.fields(kind)[0].name: None})
    for again in (copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert again == record


def test_equal_records_have_one_hash_unless_they_may_change() -> None:
    assert hash(Pin("A", marks=())) == hash(Pin("A", marks=())) != hash(Pin("B", marks=()))  # type: ignore[arg-type]
    assert Slot(name="A", width=1.0) != Slot(name="A", width=1.0)  # each is its own
    with pytest.raises(TypeError, match="unhashable"):
        hash(Count())


def test_a_frozen_record_keeps_its_values() -> None:
    for record in (Pin("A"), Hook("A"), Slot(name="A", width=1.0), pickle.loads(pickle.dumps(Pin("A")))):
        for name in ("name", "other"):
            with pytest.raises(FrozenInstanceError):
                setattr(record, name, "B")
        with pytest.raises(FrozenInstanceError):
            del record.name
        assert record.name == "A"
    with pytest.raises(TypeError, match="width"):
        Slot(name="A")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected"):
        Pin("A", other=1)  # type: ignore[call-arg]
    count = Count()
    count.steps = 2
    assert count == Count(2)
