"""What the people of the old sites have always typed."""

PASSWORDS = {
    name: f"what {name} has always typed"
    for name in ("ada", "grace", "barbara", "dorothy", "frances", "linus", "margaret")
}
