"""The URLs below /auth, one file each. Shared code is in `forms`.

A new URL is a file with a subclass of `forms.endpoint.Endpoint` or, for a form, of a class in
`forms`, and a line in `app`; `samples` has an example of each page.
"""
