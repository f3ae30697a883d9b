// A classic script in the head: it runs before the first paint, so that a stored theme does not flash.
try {
  const stored = localStorage.getItem("hookline-theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
} catch {
  // storage is blocked: the theme of the system stays
}
