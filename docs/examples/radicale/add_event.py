"""Make a calendar with an event, with an API key."""

import os
from datetime import datetime

from caldav import DAVClient

with DAVClient("http://127.0.0.1:8080/", username="ada", password=os.environ["KEY"]) as client:
    calendar = client.principal().make_calendar(name="Library")
    start, end = datetime(2027, 5, 3, 17), datetime(2027, 5, 3, 18)
    calendar.add_event(dtstart=start, dtend=end, summary="Reading")
