from cors import Cors
from notes_site import application as site

application = Cors(site, ["http://localhost:8000"])
