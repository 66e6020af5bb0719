from requests_client import Login, connect

login = Login("http://127.0.0.1:8080", "ada", "four unrelated words")
with connect(login) as client:
    print(client.get(f"{login.site}/").text)
