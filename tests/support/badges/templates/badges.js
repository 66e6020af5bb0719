// Counts clicks.
document.addEventListener("click", () => {
  document.body.dataset.clicks = `1
    2`;
});
