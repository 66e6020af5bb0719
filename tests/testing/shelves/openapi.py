"""What the OpenAPI document says of the shelf."""

from shelves.shelf import Shelf
from shelves.tidy import Tidy

from wsgiauth.extend.openapi import Operation, answer, answer_or_page, array, integer, obj, text

SHELF = obj("Shelf", titles=array(text(), "The titles of the books."))
BOOKS = obj("BookCount", books=integer("How many books are overdue."))

OPERATIONS = {
    Shelf: {
        "get": Operation(
            "showShelf",
            "The books of the caller",
            "Lists the titles.",
            answers=(answer_or_page("The books.", SHELF),),
        ),
        "post": Operation(
            "borrowBook",
            "Borrow a book",
            "It stays on the shelf for a month.",
            answers=(answer(200, "The books.", SHELF),),
            example={"title": "Middlemarch"},
        ),
    },
    Tidy: {
        "get": Operation(
            "countOverdue",
            "How many books are overdue",
            "Of all users.",
            answers=(answer(200, "The number.", BOOKS),),
        ),
        "post": Operation(
            "deleteOverdue",
            "Delete the books that are overdue",
            "Of all users.",
            answers=(answer(200, "How many books are deleted.", BOOKS),),
        ),
    },
}
