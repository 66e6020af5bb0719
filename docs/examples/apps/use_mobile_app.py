from mobile_app import Account

keystore = {}
account = Account("http://127.0.0.1:8080", keystore)
account.register("lin", "lin@example.org", "four unrelated words")
account.log_in("lin", "four unrelated words")
account.request("POST", "/notes", json={"text": "Buy milk"})

after_a_restart = Account("http://127.0.0.1:8080", keystore)
print(after_a_restart.request("GET", "/notes").json())
after_a_restart.log_out()
print(keystore)
