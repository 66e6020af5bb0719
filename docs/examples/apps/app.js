import {logIn, logOut, send} from "./account.js";

const [login, code, notes, list, newNote, message] = ["login", "code", "notes", "list", "new",
  "message"].map((id) => document.getElementById(id));

function showLogin(text) {
  login.hidden = false;
  notes.hidden = true;
  message.textContent = text;
}

async function showNotes(method, note) {
  const answer = await send(method, "/notes", note);
  if (answer.status === 401) return showLogin("Log in to see your notes.");
  if (!answer.ok) throw new Error(answer.statusText);
  const items = (await answer.json()).map((text) => {
    const item = document.createElement("li");
    item.textContent = text; // never innerHTML, which runs scripts in the text
    return item;
  });
  list.replaceChildren(...items);
  login.hidden = true;
  notes.hidden = false;
  message.textContent = "";
  return true;
}

login.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await logIn(new FormData(login));
  if (answer.ok) {
    login.reset();
    code.hidden = true;
    return showNotes("GET");
  }
  const problem = await answer.json();
  if (problem.code === "second_factor_required") code.hidden = false;
  showLogin(problem.detail);
});

newNote.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await showNotes("POST", {text: newNote.elements.text.value})) newNote.reset();
});

document.getElementById("logout").addEventListener("click", async () => {
  await logOut();
  list.replaceChildren();
  showLogin("You are logged out.");
});

window.addEventListener("unhandledrejection", () => {
  message.textContent = "The site cannot be reached. Try again.";
});

showNotes("GET");
