def days(kind):
    return 7 if kind == "plum" else 14
