"""The words in which endpoints and features describe themselves for the OpenAPI document.

`schemas` has JSON Schemas and the objects of the document, `answers` the responses, the failures
and the operations, and `failures` those that endpoints share. `endpoints.document` makes the
document from them.
"""
