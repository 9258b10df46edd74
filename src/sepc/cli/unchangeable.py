"""Columns that people cannot change, by their names."""

import re
from collections.abc import Iterable

_PERSONAL = {"age", "sex", "gender", "race", "ethnicity", "nationality"}
_OF_BIRTH = {"birth", "birthday", "birthdate", "birthplace", "born", "dob"}
_WORDS = _PERSONAL | _OF_BIRTH | {"id", "ids", "identifier"}


def unchangeable(names: Iterable[str]) -> list[str]:
    """Return the names that have a word such as age, sex or id in them: ``Age``, ``sex_code``, ``patientId``.

    Examples
    --------
    >>> unchangeable(["Age", "mileage", "personal_status_sex", "patientID", "income"])
    ['Age', 'personal_status_sex', 'patientID']
    """
    return [name for name in names if _WORDS & {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}]
