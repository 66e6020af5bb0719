"""Upload a file with an API key."""

import os

from webdav3.client import Client

options = {"webdav_login": "ada", "webdav_password": os.environ["KEY"]}
client = Client({"webdav_hostname": "http://127.0.0.1:8080", **options})
client.upload_sync(remote_path="README.md", local_path="README.md")
