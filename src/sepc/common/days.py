"""Days that files hold."""

import os
from datetime import UTC, date, datetime


def today() -> str:
    """Return the day, as in 2026-03-01: that of SOURCE_DATE_EPOCH where it is set, so that files can be made again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (datetime.fromtimestamp(int(epoch), UTC).date() if epoch.isdecimal() else date.today()).isoformat()
